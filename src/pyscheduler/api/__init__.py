"""TELL PROGRAMS: HTTP over JSON, one module a noun.

`app.build_app` makes the application from a `Host`: whatever has an engine to speak for. A request is identified
(`callers`), let through (`gates`), read (`asking`), answered from the engine or the store (`jobs`, `runs`, ...) in
views (`views`) whose form the shapes promise (`shapes`), and errors of the family become answers in `problems`.

*Invariant:* nothing here decides. Reads of the store happen on the API's own few threads, so that neither the loop nor
the engine waits for them; long lists are written a slice a turn of the loop. No value of the environment is shown. What
commands use too while no scheduler runs (`questions`, `known`, `logpart`, `views`) loads no web server.
"""
