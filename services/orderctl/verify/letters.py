"""Nothing lies among the dead letters, and nothing is parked behind one."""

from services.orderctl.verify.data import Snapshot
from services.orderctl.verify.finding import Finding, finding


def nothing_dead(snapshot: Snapshot) -> Finding:
    """No service has a dead letter or a parked event that nobody has dealt with."""
    return finding(
        len(snapshot.letters),
        (
            f"{le.service}: {le.event_type} of {le.key} is {le.status} ({le.reason})"
            for le in snapshot.letters
        ),
    )
