"""The keys of a job, their kinds, their meaning and an example: the one place that knows them. Spec: jobs.md 1.10, 2.

Every key is optional here and None when it is not given: which keys a job must have, and what a missing one means, is
decided in `jobs.py` once `defaults:` has been laid under it. The JSON Schema for editors is made from these models.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from pyscheduler.config.fields import (
    AtLeastOne,
    Between,
    Bool,
    CatchUpWord,
    Clock,
    ClockOrDuration,
    Count,
    CriticalityWord,
    Day,
    DependsOnWord,
    Duration,
    DurationOrZero,
    EnvName,
    EnvNameKey,
    EnvValue,
    Exclusion,
    ExitCode,
    FullTemplate,
    KindWord,
    LeftoversWord,
    Length,
    Moment,
    Month,
    Name,
    NameKey,
    OnUncertainWord,
    OverlapWord,
    RunDateWord,
    ShownText,
    Size,
    Template,
    Text,
    Umask,
    Weekday,
    Zone,
    decimal,
    whole,
)
from pyscheduler.config.reading import Several, shape_of
from pyscheduler.config.words import (
    AlertKindWord,
    LimitCount,
    LimitSize,
    LimitTime,
    OnLostWord,
    RetryOnWord,
    ScheduleText,
)


class Shape(BaseModel):
    """A mapping whose keys are all known."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    def given(self) -> dict[str, Any]:
        """Return the keys that were written, with their values."""
        values = self.__dict__
        return {name: values[name] for name in self.model_fields_set if name in values}


def key(meaning: str, *, default: object = None, examples: list[Any] | None = None, alias: str | None = None) -> Any:
    """Return a key that may be left out. `default` is what that means, as an editor shows it."""
    extra: dict[str, Any] = {} if default is None else {"default": default}
    return Field(default=None, description=meaning, examples=examples, json_schema_extra=extra, alias=alias)


# --------------------------------------------------------------------------- schedules and dependencies


class ScheduleKeys(Shape):
    """A schedule with more to say than one line of text: exactly one of cron, every, at, business_day or once."""

    cron: Text | None = key(
        "A cron expression of five fields, or six with seconds first.", examples=["0 6 * * mon-fri"]
    )
    every: Duration | None = key("Steps of real elapsed time, at least 1m.", examples=["20m"])
    between: Between | None = key(
        "The window of `every`; over midnight when it ends before it starts.", examples=["07:00-19:00"]
    )
    at: Annotated[list[Clock], Field(min_length=1), Several()] | None = key("Local times of day.", examples=["07:15"])
    business_day: Annotated[int, whole(-31, 31)] | None = key(
        "The n-th working day of the month; negative counts from its end. Needs `at` and a calendar.", examples=[1, -1]
    )
    once: Moment | None = key("One local instant.", examples=["2027-01-04 06:00"])
    days: Annotated[list[Weekday], Field(min_length=1), Several()] | None = key(
        "Only on these weekdays.", examples=[["mon", "fri"]]
    )
    months: Annotated[list[Month], Field(min_length=1), Several()] | None = key(
        "Only in these months.", examples=[[3, 6, 9, 12]]
    )
    start: Day | None = key("The first day on which it fires.", examples=["2027-01-01"])
    end: Day | None = key("The last day on which it fires.", examples=["2027-12-31"])
    jitter: DurationOrZero | None = key(
        "Start up to so much later, by a delay that is the job's own and stays.", examples=["5m"]
    )
    exclude: Annotated[list[Exclusion], Field(min_length=1), Several()] | None = key(
        "No firing in these windows: daily, a date, or from date to date.",
        examples=[["22:00-02:00", "2027-12-24..2027-12-26"]],
    )


class DependencyKeys(Shape):
    """An edge: what is waited for."""

    job: Name = Field(description="The job that must have ended.")
    on: DependsOnWord | None = key("Which ending lets this job start.", default="success")
    run_date: Annotated[int, whole(-260, 0)] | None = key(
        "Whose run date: so many working days before this run's own, 0 or negative.", default=0, examples=[-1]
    )


ScheduleItem = Annotated[
    Annotated[ScheduleText, Tag("<text>")] | Annotated[ScheduleKeys, Tag("<mapping>")], Discriminator(shape_of)
]
DependencyItem = Annotated[
    Annotated[Name, Tag("<text>")] | Annotated[DependencyKeys, Tag("<mapping>")], Discriminator(shape_of)
]
Command = Annotated[
    Annotated[FullTemplate, Tag("<text>")] | Annotated[list[Template], Field(min_length=1), Tag("<list>")],
    Discriminator(shape_of),
]
Inherited = Annotated[Annotated[Bool, Tag("<text>")] | Annotated[list[EnvName], Tag("<list>")], Discriminator(shape_of)]

# --------------------------------------------------------------------------- parts of a job


class RetryKeys(Shape):
    """How often and when a failed run is tried again."""

    count: Count | None = key("Tries after the first.", default=0, examples=[3])
    delay: Duration | None = key("Wait before the first retry.", default="1m")
    backoff: Annotated[float, decimal(1)] | None = key("Each wait is so many times the one before.", default=2)
    max_delay: Duration | None = key("No wait is longer.", default="10m")
    on: list[RetryOnWord] | None = key(
        "What is tried again: exit codes, or words.",
        default=["failed", "signal", "timeout", "lost", "start_error"],
        examples=[[75, "lost"]],
    )
    jitter: Annotated[float, decimal(0, 1)] | None = key(
        "The fraction of the wait that may be added by chance.", default=0
    )


class LimitKeys(Shape):
    """Limits of the kernel for the job's processes; `unlimited` lifts one."""

    nofile: LimitCount | None = key("Open files.", examples=[1024])
    nproc: LimitCount | None = key("Processes of the user.")
    core: LimitSize | None = key("Size of a core dump.", examples=[0])
    fsize: LimitSize | None = key("Size of a file it writes.", examples=["10G"])
    as_: LimitSize | None = key("Address space.", examples=["2G"], alias="as")
    cpu: LimitTime | None = key("Processor time.", examples=["1h"])
    stack: LimitSize | None = key("Stack.")
    memlock: LimitSize | None = key("Memory kept from being swapped out.")
    data: LimitSize | None = key("Data segment.")
    rss: LimitSize | None = key("Resident memory (Linux has not enforced it since 2.4).")


class AlertKeys(Shape):
    """Which alerts the job raises and who else is told."""

    on: list[AlertKindWord] | None = key("Raise these kinds too; wins over `off`.", examples=[["retrying"]])
    off: list[AlertKindWord] | None = key("Do not raise these kinds.", examples=[["blocked"]])
    notify: list[Name] | None = key("Notifiers told beside those of the routes.")
    repeat_after: Duration | None = key("The same trouble is told again only after so long.", examples=["24h"])


# --------------------------------------------------------------------------- the job


class JobDefaults(Shape):
    """Keys for every job that does not say otherwise: any job key but `type` and `watch`."""

    command: Command | None = key(
        "What runs: text by /bin/sh -c, a list directly.",
        examples=["./load.sh {run_date}", ["/opt/load", "{run_date}"]],
    )
    cwd: Template | None = key("The folder it runs in.")
    env: dict[EnvNameKey, EnvValue] | None = key(
        "Variables laid over the inherited ones.", examples=[{"PGHOST": "db1"}]
    )
    inherit_env: Inherited | None = key(
        "Which of the scheduler's variables it gets: all but those read here as ${NAME}, none, or a list.",
        default=True,
        examples=[False, ["http_proxy"]],
    )
    schedule: Annotated[list[ScheduleItem], Field(min_length=1), Several()] | None = key(
        "When it runs: cron text, a mapping, the word manual, or a list of these.",
        examples=["0 6 * * mon-fri", {"at": "07:15"}, "manual"],
    )
    calendar: Name | None = key("Its business calendar, or none.", default="none")
    timezone: Zone | None = key("The zone of its schedules and deadlines; else the scheduler's.")
    run_date: RunDateWord | None = key("Which date a firing's run is for.", default="same_day")
    depends_on: list[DependencyItem] | None = key(
        "What must have ended first.", examples=[["extract"], [{"job": "load", "on": "failure"}]]
    )
    max_wait: Duration | None = key("How long a run waits for its dependencies before it fails.", examples=["6h"])
    retries: RetryKeys | None = key("How often and when it is tried again.")
    success_codes: Annotated[list[ExitCode], Field(min_length=1)] | None = key(
        "Exit codes that mean success.", default=[0], examples=[[0, 3]]
    )
    timeout: Duration | None = key("An attempt that runs longer is ended.", examples=["2h"])
    kill_grace: Duration | None = key("From the polite signal to the last one; else the scheduler's.", examples=["30s"])
    criticality: CriticalityWord | None = key("Higher starts first.", default="normal")
    pools: dict[NameKey, AtLeastOne] | None = key("Slots it takes of each pool.", examples=[{"database": 2}])
    overlap: OverlapWord | None = key("What a ready run does while another run of the job is active.", default="queue")
    catch_up: CatchUpWord | None = key("Which firings missed while the scheduler was down get a run.", default="latest")
    stdout: FullTemplate | None = key("The output file.", default="{log_dir}/{job}/{run_date}/{run_id}.{attempt}.out")
    stderr: FullTemplate | None = key(
        "The error file; the word stdout merges both.", default="{log_dir}/{job}/{run_date}/{run_id}.{attempt}.err"
    )
    max_log: Size | None = key("Output beyond this is cut out of the middle.", examples=["100M"])
    leftovers: LeftoversWord | None = key(
        "What becomes of processes that outlive a normal end; else the scheduler's.", default="leave"
    )
    user: Name | None = key("The user it runs as; needs a scheduler that runs as root.")
    umask: Umask | None = key("Its umask, octal.", examples=["027"])
    nice: Annotated[int, whole(-20, 19)] | None = key("Its niceness.", examples=[10])
    limits: LimitKeys | None = key("Limits of the kernel.")
    min_runtime: Duration | None = key("A success faster than this raises an alert.")
    max_runtime: Duration | None = key("An attempt still running after this raises an alert.")
    must_start_by: ClockOrDuration | None = key("A run not started by then raises an alert.", examples=["02:00", "45m"])
    max_silence: Duration | None = key("A job that has not succeeded for so long raises an alert.", examples=["10m"])
    alerts: AlertKeys | None = key("Which alerts it raises and who else is told.")
    node: Name | None = key("The node of the cluster that it runs on, and no other.", examples=["batch1"])
    node_tags: list[Name] | None = key("It runs on any node that has all of these.", examples=[["gpu"]])
    on_lost: OnLostWord | None = key(
        "What becomes of a run whose attempt was lost: rerun, whatever `retries` says, or fail; else as `retries` says."
    )
    reclaim_after: Length | None = key(
        "How long a node may be silent, of which nothing can be proved, before its attempt is given up; "
        "else as long as `scheduler.cluster.reclaim_after`.",
        examples=["30m"],
    )
    on_uncertain: OnUncertainWord | None = key(
        "What an attempt does whose node cannot renew its lease: continue, or stop, which ends it as lost.",
        default="continue",
    )
    agent: Name | None = key("The agent it runs on.")
    agent_tags: list[Name] | None = key("Any agent that has all of these.")
    tags: list[ShownText] | None = key("Words to find it by.", examples=[["nightly", "finance"]])
    description: ShownText | None = key("What it is for.")
    owner: ShownText | None = key("Who answers for it.")
    allow: list[Name] | None = key(
        "Teams whose operators may act on it; without any, all operators may.", examples=[["finance"]]
    )
    enabled: Bool | None = key("false: no runs are ever created, open ones are cancelled.", default=True)
    require_reason: Bool | None = key(
        "true: no action on it or on its runs is taken without a reason.", default=False, examples=[True]
    )
    min_age: DurationOrZero | None = key("A watched file must be unchanged so long.", default="30s")
    poll: Duration | None = key("How often a watcher looks.", default="10s")
    give_up_after: Duration | None = key("How long a watcher waits.", default="1d")


class JobKeys(JobDefaults):
    """One job."""

    type: KindWord | None = key("command or file_watcher.", default="command")
    watch: FullTemplate | None = key("The files a watcher waits for.", examples=["/in/{run_date:%Y%m%d}/*.csv"])
