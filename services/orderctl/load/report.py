"""What a load came to: latencies, rates, endings, and the relay measured in the same run."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from services.orderctl.load.observer import Ending
from services.orderctl.load.runner import Placed, Run
from services.orderctl.percentiles import Percentiles, percentiles

HOPS_TO_CONFIRMED = 3
"""Outbox to reader: order -> inventory -> payment -> order."""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a load; latencies in milliseconds, ``seconds`` from first POST to last ending.

    ``latency`` runs from sending the POST to the ending in the order service, ``seen`` to reading
    that ending from its topic, which is one relay hop more. ``refused`` is how many answers said to
    come back later; the order was sent again then, and its latency runs from there.
    """

    placed: int
    refused: int
    failed: int
    unfinished: list[str]
    unexpected: dict[str, str]
    seconds: float
    completed_per_second: float
    late_seconds: float
    endings: dict[str, int]
    post: Percentiles | None
    latency: dict[str, Percentiles]
    seen: dict[str, Percentiles]
    hop: Percentiles | None
    hop_by_topic: dict[str, Percentiles]
    first_third_p50: float | None
    last_third_p50: float | None
    errors: list[str]

    @property
    def confirmed(self) -> Percentiles | None:
        """POST to confirmed."""
        return self.latency.get("confirmed")

    def ratio(self, name: str) -> float | None:
        """POST to confirmed over three relay hops at the median, for one percentile's name."""
        if self.confirmed is None or self.hop is None:
            return None
        return float(getattr(self.confirmed, name)) / (HOPS_TO_CONFIRMED * self.hop.p50)

    def as_json(self) -> dict[str, Any]:
        """Everything, with the two ratios."""
        ratios = {"p50": self.ratio("p50"), "p99": self.ratio("p99")}
        return asdict(self) | {"ratio_to_three_hops": ratios}


def build(run: Run, endings: Mapping[str, Ending], hop_ms: Mapping[str, Sequence[float]]) -> Report:
    """Join what was placed with how it ended."""
    ended = [(order, endings[order.order_id]) for order in run.placed if order.order_id in endings]
    decided: dict[str, list[float]] = defaultdict(list)
    seen: dict[str, list[float]] = defaultdict(list)
    for order, ending in ended:
        decided[ending.name].append((ending.decided_at - order.sent_at) * 1000)
        seen[ending.name].append((ending.seen_at - order.sent_at) * 1000)
    seconds = _seconds(ended)
    first, last = _thirds(ended)
    return Report(
        placed=len(run.placed),
        refused=run.refused,
        failed=len(run.errors),
        unfinished=[o.order_id for o in run.placed if o.order_id not in endings],
        unexpected={o.order_id: e.name for o, e in ended if e.name != o.kind.ending},
        seconds=seconds,
        completed_per_second=len(ended) / seconds if seconds else 0.0,
        late_seconds=run.late,
        endings=dict(sorted(Counter(ending.name for _, ending in ended).items())),
        post=percentiles([(o.answered_at - o.sent_at) * 1000 for o in run.placed]),
        latency=_by_name(decided),
        seen=_by_name(seen),
        hop=percentiles([ms for samples in hop_ms.values() for ms in samples]),
        hop_by_topic=_by_name(hop_ms),
        first_third_p50=first,
        last_third_p50=last,
        errors=run.errors[:10],
    )


def _by_name(samples: Mapping[str, Sequence[float]]) -> dict[str, Percentiles]:
    found = {name: percentiles(values) for name, values in sorted(samples.items())}
    return {name: value for name, value in found.items() if value is not None}


def _seconds(ended: Sequence[tuple[Placed, Ending]]) -> float:
    if not ended:
        return 0.0
    return max(e.seen_at for _, e in ended) - min(o.sent_at for o, _ in ended)


def _thirds(ended: Sequence[tuple[Placed, Ending]]) -> tuple[float | None, float | None]:
    """Median time to confirmed at the beginning and at the end: growing lag shows here."""
    ordered = sorted((o.sent_at, e.decided_at) for o, e in ended if e.name == "confirmed")
    third = len(ordered) // 3
    if not third:
        return None, None
    first = percentiles([(end - sent) * 1000 for sent, end in ordered[:third]])
    last = percentiles([(end - sent) * 1000 for sent, end in ordered[-third:]])
    assert first is not None and last is not None
    return first.p50, last.p50
