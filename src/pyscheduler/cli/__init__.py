"""TELL OPERATORS: the command `pysched`, one module a verb or a small group of them.

Three layers, each ignorant of the ones above it: what a terminal can show (`terminal`, `text`, `table`, `times`,
`states`), what a command works with (`place`, `client`, `session`, `options`, `faults`), and the verbs. `main` ties
them together; `catalogue` names every verb without importing it, so that a command pays for its own imports only.

*Invariant:* nothing here decides anything about a run. A verb asks the running scheduler, or the same rooms that the
scheduler is made of, and prints the answer. What only talks to a scheduler imports neither pydantic, SQLAlchemy nor
fastapi (a test holds it to that).
"""
