"""What a recipient's address asks of the sink, such as ``slow-500.ada@...`` or ``refuse@...``.

The local part is one or more parts joined by dots; parts that mean nothing are a plain name.
"""

import re
from dataclasses import dataclass, replace

_NUMBERED = re.compile(r"(slow|flaky)-(\d{1,6})(?!\d)")


@dataclass(frozen=True, slots=True)
class Faults:
    """How a mail to a recipient goes.

    ``slow_ms`` milliseconds pass between storing it and saying so; its first ``flaky`` deliveries
    are answered with 451; ``refuse`` answers the recipient with 550.
    """

    slow_ms: int = 0
    flaky: int = 0
    refuse: bool = False


def faults_of(recipient: str) -> Faults:
    """Read the faults from the local part of an address."""
    faults = Faults()
    for part in recipient.rpartition("@")[0].lower().split("."):
        faults = _with_part(faults, part)
    return faults


def _with_part(faults: Faults, part: str) -> Faults:
    if part.startswith("refuse"):
        return replace(faults, refuse=True)
    numbered = _NUMBERED.match(part)
    if numbered is None:
        return faults
    number = int(numbered[2])
    if numbered[1] == "slow":
        return replace(faults, slow_ms=number)
    return replace(faults, flaky=number)
