"""What every part of the pipeline leans on: settings, the log, contexts and tracing."""
