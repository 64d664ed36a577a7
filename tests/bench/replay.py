"""How fast a shadow rebuild is: ``python -m tests.bench.replay --events 1000000``.

On the stack of ``make up``, with topics, a group, a database and an agent of its own, all gone at
the end. One run measures, on the same events: the Faust agent, which may stop after the first of
them; a bare loop that consumes and decodes, in one process and in as many as the rebuild has; the
shadow rebuild, beside a live model that has all of them.
"""

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
import sqlalchemy as sa
from confluent_kafka import Consumer, TopicPartition

from infra.local import lifecycle
from services.eventkit.codec import Codec
from services.eventkit.envelope import event_type_of
from services.eventkit.positions import (
    LATEST,
    Place,
    admin_client,
    client_config,
    log_offsets,
    places_of,
)
from services.eventkit.rebuild.rebuilder import Progress, Report
from services.eventkit.records import RawRecord, read
from services.eventkit.schemas import Schemas
from tests.bench.generator import events, produce
from tests.integration.projector.rig import Rig, rig
from tests.integration.projector.traffic import Told
from tests.live_stack import LiveStack

PARTITIONS = 6
MB = 2**20


@dataclass
class Memory:
    """The resident memory of this process and its children, in bytes, twice a second."""

    samples: list[int] = field(default_factory=list)

    def watch(self, stop: threading.Event) -> None:
        """Samples until it is told to stop."""
        me = psutil.Process()
        while not stop.wait(0.5):
            total = 0
            for process in (me, *me.children(recursive=True)):
                try:
                    total += process.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            self.samples.append(total)

    def most(self, part: int) -> int:
        """The most in one of the four quarters of the time, in MB."""
        size = max(1, len(self.samples) // 4)
        return max(self.samples[part * size : (part + 1) * size] or self.samples) // MB


def bare(bootstrap: str, ends: Mapping[Place, int], whole: bool) -> None:
    """Consumes and decodes, and nothing else: ``whole`` records, or only their Avro."""
    left = {place: end for place, end in ends.items() if end}
    codec = Codec(Schemas.load())
    consumer = Consumer(client_config(bootstrap) | {"group.id": "bench", "check.crcs": False})
    consumer.assign([TopicPartition(*place, 0) for place in left])
    while left:
        first = consumer.poll(1.0)
        messages: list[Any] = [first, *consumer.consume(999, 0)] if first else []
        for message in messages:
            headers = message.headers()
            if whole:
                place = (message.topic(), message.partition(), message.offset())
                read(RawRecord(*place, message.key(), message.value(), headers), codec)
            else:
                codec.decode(event_type_of(headers) or "", message.value())
            if message.offset() + 1 >= left.get((message.topic(), message.partition()), 0):
                left.pop((message.topic(), message.partition()), None)
    consumer.close()


def bare_in_processes(bootstrap: str, ends: Mapping[Place, int], whole: bool, number: int) -> None:
    """The same, the partitions shared out."""
    context = multiprocessing.get_context("spawn")
    shares = [
        {place: end for place, end in ends.items() if place[1] % number == share}
        for share in range(number)
    ]
    workers = [context.Process(target=bare, args=(bootstrap, share, whole)) for share in shares]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0


def cost(what: Callable[[], Any], events: int) -> dict[str, float]:
    """A call's rate, and the CPU of this process and the children that it ended.

    On a machine with other work only the second says much.
    """
    began, before = time.monotonic(), os.times()
    what()
    took, after = time.monotonic() - began, os.times()
    cpu = sum(after[:4]) - sum(before[:4])
    return {"events_per_second": events / took, "cpu_us_per_event": cpu / events * 1e6}


def measure(made: Rig, number: int, of_agent: int) -> dict[str, Any]:
    """One run, on the same events; ``of_agent`` is how many of them the agent reads, at least."""
    stream = events(number)
    processes = os.cpu_count() or 1
    found: dict[str, Any] = {"processes": processes}
    if of_agent:
        found["agent_events"] = tell(made, islice(stream, of_agent))
        found |= agent(made, found["agent_events"])
    total = found["events"] = found.get("agent_events", 0) + tell(made, stream)
    admin = admin_client(made.bootstrap)
    ends = log_offsets(admin, places_of(admin, made.topics), LATEST, 30)
    assert sum(ends.values()) == total
    say("bare loop")
    for name, whole in (("avro", False), ("envelope_and_avro", True)):
        alone = partial(bare, made.bootstrap, ends, whole)
        found[f"bare_{name}"] = cost(alone, total)
        together = partial(bare_in_processes, made.bootstrap, ends, whole, processes)
        found[f"bare_{name}_in_processes"] = cost(together, total)
    if of_agent < number:
        say("the live model, by a rebuild that is not measured")
        _as_if_read(made, ends)
        made.rebuilder().rebuild(accept=True)
        _settle(made)
    say("rebuild")
    return found | rebuild(made, total)


def tell(made: Rig, stream: Iterator[Told]) -> int:
    """Writes the events to the topics; returns how many there were."""
    return produce(
        made.bootstrap, f"{made.group}.", stream, lambda n: say(f"producing {n:,}", end="\r")
    )


def agent(made: Rig, number: int) -> dict[str, Any]:
    """The agent from nothing to the end, and in how many rows a rebuild differs from its own."""
    say("agent")
    made.start()
    assert made.agent
    spent = cost(lambda: made.caught_up(number), number)
    times = psutil.Process(made.agent.pid).cpu_times()
    made.kill()
    spent["cpu_us_per_event"] = (times.user + times.system) / number * 1e6
    report = made.rebuilder().rebuild(swap=False)
    made.rebuilder().drop()
    return {"agent": spent, "differing_from_agent": report.comparison.differing}


def rebuild(made: Rig, events: int) -> dict[str, Any]:
    """The shadow rebuild, with the memory it takes and the time of each step."""
    memory, stop = Memory(), threading.Event()
    watching = threading.Thread(target=memory.watch, args=(stop,))
    watching.start()
    began = time.monotonic()
    steps: dict[str, float] = {}

    def progress(now: Progress) -> None:
        steps.setdefault(now.step, time.monotonic() - began)

    reports: list[Report] = []
    run = made.rebuilder(progress=progress).rebuild
    spent = cost(lambda: reports.append(run()), events)
    (report,) = reports
    stop.set()
    watching.join()
    return {
        "rebuild": spent,
        "rebuild_seconds": report.events / spent["events_per_second"],
        "steps_began_at": steps,
        "live_model_stopped_seconds": report.stopped,
        "swapped": report.swapped,
        "differing": report.comparison.differing,
        "rows": {name: rows[1] for name, rows in report.comparison.rows.items()},
        "memory_mb_by_quarter": [memory.most(part) for part in range(4)],
    }


def _as_if_read(made: Rig, ends: Mapping[Place, int]) -> None:
    """For a rebuild to read up to: it makes the rows of what the agent has not read."""
    for (topic, partition), end in ends.items():
        made.change(
            "INSERT INTO projection_offsets VALUES (:t, :p, :o)"
            " ON CONFLICT (topic, partition) DO UPDATE SET next_offset = excluded.next_offset",
            t=topic,
            p=partition,
            o=end,
        )


def _settle(made: Rig) -> None:
    """What PostgreSQL would do in the background after so much new, done at once."""
    with made.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        conn.execute(sa.text("VACUUM (ANALYZE)"))
        conn.execute(sa.text("CHECKPOINT"))


def say(text: str, end: str = "\n") -> None:
    """Tells how far it is."""
    print(text, end=end, file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument(
        "--agent-events", type=int, help="how many of them the agent reads, the slow part: all"
    )
    options = parser.parse_args(arguments)
    stack = LiveStack(lifecycle.up())
    with (
        tempfile.TemporaryDirectory() as folder,
        rig(stack, Path(folder) / "agent.log", partitions=PARTITIONS) as made,
    ):
        of_agent = options.events if options.agent_events is None else options.agent_events
        found = measure(made, options.events, of_agent)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main(sys.argv[1:])
