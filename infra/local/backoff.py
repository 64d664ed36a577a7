"""A Supervisor plug-in: a program that keeps failing is tried again for ever, a few seconds apart.

Supervisor waits one second longer after each failed start and gives up after ``startretries``.
Holding its count of failures below that bounds the wait and means it never gives up: a service
whose database was away for an hour is back seconds after it.
"""

from typing import Any

from supervisor import events

LONGEST_WAIT = 5
RETRIES = LONGEST_WAIT + 1


def install(supervisord: Any) -> object:
    """Called by Supervisor for ``[rpcinterface:backoff]``; offers no calls of its own."""
    del supervisord
    events.subscribe(events.ProcessStateBackoffEvent, _bound)
    return object()


def _bound(event: Any) -> None:
    event.process.backoff = min(event.process.backoff, LONGEST_WAIT)
