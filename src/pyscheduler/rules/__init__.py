"""WHETHER: every decision the engine takes, pure. Values in, values out; *now* and chance are arguments."""
