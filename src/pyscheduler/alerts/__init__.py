"""TELL PEOPLE SOMETHING IS WRONG: what the engine has written down is sent, retried, given up, replayed.

`AlertRoom` belongs to the service and outlives engines. *Invariant:* nothing is sent that is not on disk, but for the
message that the disk itself cannot take, which is stored once it can; no sender can hold the loop, the engine or
another notifier; no value of the environment, no token and no address with a secret in it gets into an error, a log
line or the store.
"""

from pyscheduler.alerts.heartbeat import Heartbeat
from pyscheduler.alerts.room import AlertRoom
from pyscheduler.errors import NotifyError

__all__ = ["AlertRoom", "Heartbeat", "NotifyError"]
