"""An order's timeline as the tree of what caused what, not as the order of arrival."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Entry:
    """One event of an order as the read model keeps it; ``time`` is when it happened, in UTC."""

    message_id: str
    event_type: str
    source: str
    sequence: int
    time: datetime
    causation_id: str | None
    data: Mapping[str, Any]

    @property
    def service(self) -> str:
        """The emitting service's name: ``/services/order`` -> ``order``."""
        return self.source.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class Branch:
    """An entry, the tree lines drawn before it, and whether it begins a tree of its own."""

    entry: Entry
    lines: str


def entry(item: Mapping[str, Any]) -> Entry:
    """An entry from the JSON of the projector's read API."""
    return Entry(
        message_id=item["message_id"],
        event_type=item["event_type"],
        source=item["source"],
        sequence=int(item["sequence"]),
        time=datetime.fromisoformat(item["time"]),
        causation_id=item.get("causation_id"),
        data=item.get("data") or {},
    )


def branches(entries: Iterable[Entry]) -> list[Branch]:
    """The entries in causation order.

    Siblings are sorted by service and sequence, so that the same saga always gives the same tree.
    An entry whose cause is not an event of this order (a request, a deadline set by one) is a root.
    """
    known = {one.message_id: one for one in entries}
    children: dict[str | None, list[Entry]] = defaultdict(list)
    for one in known.values():
        children[one.causation_id if one.causation_id in known else None].append(one)
    for siblings in children.values():
        siblings.sort(key=lambda one: (one.service, one.sequence, one.event_type))
    found: list[Branch] = []
    for root in children[None]:
        found.append(Branch(root, ""))
        found.extend(_below(root, children, ""))
    return found


def _below(parent: Entry, children: Mapping[Any, Sequence[Entry]], lead: str) -> Iterator[Branch]:
    siblings = children.get(parent.message_id, ())
    for child in siblings:
        last = child is siblings[-1]
        yield Branch(child, f"{lead}{'└─ ' if last else '├─ '}")
        yield from _below(child, children, f"{lead}{'   ' if last else '│  '}")


def summary(entry: Entry) -> str:
    """The business part of an event in a few words: money, what is short, the kind, the reason."""
    data = entry.data
    parts: list[str] = []
    amount = data.get("total", data.get("amount"))
    if amount is not None:
        parts.append(f"{amount} {data.get('currency', '')}".strip())
    if short := data.get("short"):
        parts.append(
            "short " + " ".join(f"{s['sku']} {s['available']}/{s['wanted']}" for s in short)
        )
    if entry.event_type != "OrderPlaced" and (lines := data.get("lines")):
        parts.append(" ".join(f"{line['sku']} x{line['quantity']}" for line in lines))
    parts.extend(str(data[name]) for name in ("kind", "reason") if data.get(name))
    return ", ".join(parts)


def golden(entries: Iterable[Entry]) -> str:
    """The tree as text without ids and times: what tests compare with a stored file."""
    rows = [
        (f"{branch.lines}{branch.entry.event_type}", branch.entry.service, summary(branch.entry))
        for branch in branches(entries)
    ]
    width = max((len(tree) for tree, _, _ in rows), default=0)
    return "".join(
        f"{tree:<{width}}  {service:<9}  {text}".rstrip() + "\n" for tree, service, text in rows
    )
