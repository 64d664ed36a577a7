"""Percentiles of latency samples."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Milliseconds; ``count`` is how many samples they stand on."""

    count: int
    p50: float
    p95: float
    p99: float
    max: float


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile of ascending samples: always a value that was measured."""
    if not ordered:
        raise ValueError("no samples")
    rank = max(1, math.ceil(percent / 100 * len(ordered)))
    return ordered[rank - 1]


def percentiles(samples: Sequence[float]) -> Percentiles | None:
    """p50, p95, p99 and the worst of the samples; None without any."""
    if not samples:
        return None
    ordered = sorted(samples)
    p50, p95, p99 = (percentile(ordered, percent) for percent in (50, 95, 99))
    return Percentiles(len(ordered), p50, p95, p99, ordered[-1])
