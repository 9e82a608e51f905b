"""What can go wrong between a job and its channel.

```text
RuntimeError
├── ChannelEnqueueError      nothing was queued, and nothing was saved: the job may be scheduled again
│   ├── ChannelFullError     later, when the queue is shorter
│   └── ChannelStoppedError  not on this channel: it takes nothing more
├── JobRequeuedError         a worker could not save the start, and the job is back in the queue
└── JobRedeliveryError       … and could not be put back: `.reason` says why, `.job` is the job
```

Spec: pipeline.md 8, 10, 18.
"""

from __future__ import annotations

from typing import Any, Final

REASONS: Final = ("full", "stopped")


class ChannelEnqueueError(RuntimeError):
    """A channel refused a job before it was queued."""


class ChannelFullError(ChannelEnqueueError):
    """The queue is at its bound."""


class ChannelStoppedError(ChannelEnqueueError):
    """The channel was asked to stop."""


class JobRequeuedError(RuntimeError):
    """The start of a job could not be saved; no work was done, and the job waits in the queue again."""


class JobRedeliveryError(RuntimeError):
    """The start of a job could not be saved, and its channel does not take it back; the job is Failed."""

    def __init__(self, message: str, *, reason: str, job: Any = None) -> None:
        if reason not in REASONS:
            raise ValueError(f"invalid reason {reason!r}: write one of {', '.join(REASONS)}")
        super().__init__(message)
        self.reason = reason
        self.job = job


def check_sent(verdict: object, channel_id: str) -> None:
    """Return if a send landed, and raise the fitting error if not."""
    match verdict:
        case "ok":
            return
        case "full":
            raise ChannelFullError(f"channel full: {channel_id} takes no more before some is worked off")
        case "stopped":
            raise ChannelStoppedError(f"channel stopped: {channel_id} takes no more")
        case other:
            raise ChannelEnqueueError(f"channel {channel_id} answered {other!r}, which is no verdict")
