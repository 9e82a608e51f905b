"""Every command there is: where it lives and what it does in one line, known without importing any.

`pysched --help` and shell completion are answered from here; a command's own module is imported when it is run. The
lines are the first sentences of the commands' own help (a test compares the two).
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Entry(NamedTuple):
    """One command: the module in this package, the command's name there, its summary."""

    module: str
    attribute: str
    summary: str


SECTIONS: Final[dict[str, dict[str, Entry]]] = {
    "Begin": {
        "demo": Entry("demo", "demo", "Show a nightly chain of jobs from start to end."),
        "init": Entry("init", "init", "Write a configuration to begin with, or a systemd unit."),
        "serve": Entry("serve", "serve", "Run the scheduler."),
        "tick": Entry("tick", "tick", "Make one pass: run what is due, record what became of it."),
        "work": Entry("tick", "work", "Make passes until stopped: `tick` in a loop."),
        "stop": Entry("stop", "stop", "Stop the scheduler; running jobs go on."),
    },
    "Look": {
        "status": Entry("status", "status", "Show the board: the runs of a date, the worst first."),
        "jobs": Entry("jobs", "jobs", "List the jobs: schedule, next firing, last run."),
        "list": Entry("standing", "list_", "List jobs by their last outcome, last success and owner."),
        "health": Entry("standing", "health", "Exit with 1 where a job has not succeeded in time."),
        "runs": Entry("runs", "runs", "List runs, the newest first."),
        "show": Entry("show", "show", "Show one run: its fields, its attempts, its logbook."),
        "log": Entry("log", "log", "Print what an attempt has written; -f follows it."),
        "events": Entry("events", "events", "Show the logbook: who did what, the newest line first."),
        "open": Entry("open_", "open_", "Print a link that lets one browser in, once."),
        "alerts": Entry("alerts", "alerts", "List alerts, the newest first, and whether people were told."),
        "why": Entry("why", "why", "Say why a job does not run, and what would release it."),
        "next": Entry("upcoming", "next_", "Show when jobs fire next, and what clock changes do."),
        "forecast": Entry("forecast", "forecast_", "Show the runs to expect, and when they should start."),
    },
    "Act on runs": {
        "trigger": Entry("trigger", "trigger", "Start a run of a job now."),
        "backfill": Entry("trigger", "backfill", "Create the runs that a range of dates has not got."),
        "hold": Entry("act", "hold", "Keep runs from starting until they are released."),
        "release": Entry("act", "release", "Let held runs go on."),
        "kill": Entry("act", "kill", "End a running attempt; its run fails, with no further try."),
        "rerun": Entry("act", "rerun", "Open ended runs again, with a fresh retry budget."),
        "force-start": Entry("act", "force_start", "Start runs whatever they wait for but pools and slots."),
        "skip": Entry("act", "skip", "Pass runs over; what depends on them sees a success."),
        "mark-success": Entry("act", "mark_success", "Declare runs succeeded."),
        "mark-failed": Entry("act", "mark_failed", "Declare runs failed."),
        "cancel": Entry("act", "cancel", "Call runs off that have not started."),
    },
    "Act on the scheduler": {
        "pause": Entry("pause", "pause", "Let a job, or everything, rest: nothing of it starts."),
        "resume": Entry("pause", "resume", "End a pause; the job starts from now."),
        "reload": Entry("reload", "reload_", "Put the configuration as it is on disk into force."),
        "nodes": Entry("nodes", "nodes", "List the schedulers that share this store."),
        "drain": Entry("nodes", "drain", "Let a node claim nothing more; what it runs goes on."),
        "fence": Entry("nodes", "fence", "Take everything away from a node that is gone for good."),
        "drill": Entry("drill", "drill", "Hand the lead over to another scheduler, and measure it."),
        "replay": Entry("alerts", "replay", "Try dead deliveries of an alert again."),
        "catch-up": Entry("catch_up", "catch_up", "Decide about firings missed by a restored store."),
    },
    "Plan": {
        "validate": Entry("validate", "validate", "Check a configuration; every problem is told at once."),
        "schema": Entry("validate", "schema", "Print the JSON Schema of the configuration, for editors."),
        "simulate": Entry("simulate", "simulate", "Run days of the schedule in a blink, starting nothing."),
        "diff": Entry("diff", "diff", "Show what a changed configuration adds, loses or moves."),
    },
    "Keep": {
        "doctor": Entry("doctor", "doctor", "Examine machine and state, and say what to mend."),
        "audit": Entry("audit", "audit", "Show who did what, or prove that the log is whole."),
        "backup": Entry("backup", "backup", "Copy the store, while the scheduler runs or not."),
        "restore": Entry("backup", "restore", "Put a backup of the store back in its place."),
        "hash-token": Entry("hashing", "hash_token", "Make an API token, and its hash for the tokens file."),
        "hash-password": Entry("hashing", "hash_password", "Make the hash of a password for the users file."),
        "completion": Entry("completion", "completion", "Print the script that lets a shell complete commands."),
        "version": Entry("version", "version", "Show the release, and those of what it stands on."),
    },
}

COMMANDS: Final[dict[str, Entry]] = {name: entry for section in SECTIONS.values() for name, entry in section.items()}
