"""What spans, metrics and logs cost: ``python -m tests.bench.observability --pairs 6``.

Each run is a process of its own: the inventory service handles the same number of OrderPlaced
events in batches, on a scratch database of the running stack, with its spans exported to Jaeger,
its metrics counted and its logs written to a file as JSON; or with all of that switched off. Runs
with and without follow each other in turn, so that a busy machine slows both alike. Kafka is left
out: it is no part of what is compared.

*cpu* is this process's processor time for an event, *wall* the clock's. Under load the first is the
one to trust.

What an order costs in the whole system, with and without, is measured by `whole_system`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import prometheus_client
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from infra.local import layout, lifecycle, stack
from services.eventkit import logs, tracing
from services.eventkit.batch import BatchHandler
from services.eventkit.codec import Codec
from services.eventkit.envelope import Envelope
from services.eventkit.records import RawRecord
from services.eventkit.schemas import Schemas
from services.inventory.__main__ import SERVICE
from tests.integration.scratch import scratch
from tests.live_stack import LiveStack

OFF, TENTH, WHOLE = "off", "10%", "100%"
SHARES = {TENTH: 10, WHOLE: 1}
"""Of how many traces one is recorded."""
WARM_UP = 400


def records(count: int, batch: int, mode: str) -> Iterator[list[RawRecord]]:
    """Batches of orders for a SKU that nobody has: each is rejected, and says so in an event."""
    codec = Codec(Schemas.load())
    every = SHARES.get(mode, 0)
    for first in range(0, count, batch):
        yield [
            _record(codec, n, bool(every) and n % every == 0) for n in range(first, first + batch)
        ]


def _record(codec: Codec, number: int, sampled: bool) -> RawRecord:
    key = str(uuid4())
    envelope = Envelope(
        message_id=uuid4(),
        event_type="OrderPlaced",
        source="/services/order",
        time=datetime.now(UTC),
        subject=key,
        correlation_id=str(uuid4()),
        causation_id=None,
        sequence=1,
        schema_version="1",
        tenant_id="demo",
        actor_id="bench",
        traceparent=f"00-{uuid4().hex}-{uuid4().hex[:16]}-{'01' if sampled else '00'}",
    )
    data = {
        "customer_id": "bench",
        "currency": "EUR",
        "total": 100,
        "payment_token": "tok_ok",
        "pay_by": datetime.now(UTC),
        "lines": [{"sku": "BENCH-NONE", "quantity": 1, "unit_price": 100}],
    }
    value, now = codec.encode("OrderPlaced", data), time.time()
    headers = envelope.to_headers()
    return RawRecord("order.events", number % 6, number, key.encode(), value, headers, now, now)


def run(mode: str, count: int, batch: int) -> dict[str, float]:
    """One run in this process; seconds for an event."""
    live = LiveStack(stack.prepare(layout.load(), lifecycle.running_ports(layout.load()), _quiet))
    if mode == OFF:
        _switch_off()
    else:
        logs.setup("bench", "json")
        tracing.setup("bench", live.url("otlp_http"))
    with scratch(live, SERVICE) as made:
        handler = BatchHandler(made.db, made.engine, "bench")
        for some in records(WARM_UP, batch, mode):
            handler.handle(some)
        _flush()  # the first export loads half of what an exporter needs
        prepared = list(records(count, batch, mode))
        began, spent = time.perf_counter(), time.process_time()
        for some in prepared:
            handler.handle(some)
        wall = time.perf_counter() - began
        tracing.shutdown()
        return {"wall": wall / count, "cpu": (time.process_time() - spent) / count}


def _flush() -> None:
    provider = trace.get_tracer_provider()
    if isinstance(provider, TracerProvider):
        provider.force_flush()


def _quiet(_: str) -> None:
    """Nobody wants to hear of downloads that are not made."""


def _switch_off() -> None:
    """No span, no line, and metrics that count nothing."""
    trace.set_tracer_provider(trace.NoOpTracerProvider())
    logs.setup("bench", "json", "CRITICAL")
    nothing: Any = lambda *_, **__: None  # noqa: E731
    for kind, names in (
        (prometheus_client.Counter, ("inc",)),
        (prometheus_client.Gauge, ("set", "inc", "dec")),
        (prometheus_client.Histogram, ("observe",)),
    ):
        for name in names:
            setattr(kind, name, nothing)
        kind.labels = lambda self, *_, **__: self  # type: ignore[method-assign]


def child(mode: str, count: int, batch: int) -> dict[str, float]:
    """A run in a process of its own; what it logs goes to a file."""
    own = [sys.executable, "-m", "tests.bench.observability", "--child", mode]
    with tempfile.NamedTemporaryFile("w+") as told, tempfile.TemporaryFile() as log:
        command = [*own, "--events", str(count), "--batch", str(batch), "--tell", told.name]
        subprocess.run(command, check=True, stdout=log, env=os.environ)
        found: dict[str, float] = json.loads(told.read())
    return found


def main() -> None:
    """Runs pairs and prints one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=4000)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--child", choices=(OFF, TENTH, WHOLE))
    parser.add_argument("--tell")
    options = parser.parse_args()
    if options.child:
        with open(options.tell, "w") as told:  # noqa: PTH123
            json.dump(run(options.child, options.events, options.batch), told)
        return
    found: dict[str, list[dict[str, float]]] = {OFF: [], TENTH: [], WHOLE: []}
    for _ in range(options.pairs):
        for mode, runs in found.items():
            runs.append(child(mode, options.events, options.batch))
    print(json.dumps(_summary(found, options), indent=2))


def _summary(found: dict[str, list[dict[str, float]]], options: argparse.Namespace) -> Any:
    """Medians in milliseconds, and the throughput of each pair against the one without."""
    told: dict[str, Any] = {"events": options.events, "batch": options.batch}
    told["pairs"], told["load"] = options.pairs, os.getloadavg()
    for what in ("cpu", "wall"):
        for mode, runs in found.items():
            ratios = [off[what] / on[what] for off, on in zip(found[OFF], runs, strict=True)]
            told[f"{what} {mode}"] = {
                "ms_an_event": round(1000 * statistics.median(run[what] for run in runs), 4),
                "throughput_ratio": {
                    "median": round(statistics.median(ratios), 3),
                    "least": round(min(ratios), 3),
                    "most": round(max(ratios), 3),
                },
            }
    return told


if __name__ == "__main__":
    main()
