"""Which letters and dead jobs a redrive is about, and running them."""

from collections import Counter
from collections.abc import Sequence

from services.orderctl.operations import JOB, Aside, Decided, Operations

QUARANTINED = "quarantined"


def by_reason(items: Sequence[Aside]) -> dict[str, int]:
    """How many there are of each reason, the most frequent first."""
    return dict(Counter(item.reason for item in items).most_common())


def wanted(
    items: Sequence[Aside], order: str | None, letter: str | None, everything: bool
) -> list[Aside]:
    """What a redrive is about; one for all leaves out what was quarantined, and what is behind."""
    if letter is not None:
        return [item for item in items if item.id == letter]
    if order is not None:
        return [item for item in items if item.key == order]
    held = {(item.service, item.key) for item in items if item.status == QUARANTINED and item.key}
    return [
        item
        for item in items
        if everything and item.status != QUARANTINED and (item.service, item.key) not in held
    ]


def run(operations: Operations, items: Sequence[Aside], everything: bool) -> list[Decided]:
    """Redrives these: letters by service and key, in order, then the jobs."""
    results: list[Decided] = []
    letters = [item for item in items if item.kind != JOB]
    if everything:
        for service in dict.fromkeys(item.service for item in letters):
            results += operations.redrive_everything(service)
    else:
        for service, key, item_id in dict.fromkeys(
            (item.service, item.key, None if item.key else item.id) for item in letters
        ):
            results += (
                operations.redrive_key(service, key)
                if key
                else operations.redrive_letter(service, item_id or "")
            )
    results += [operations.redrive_job(item.service, item.id) for item in items if item.kind == JOB]
    return results
