"""What a thousand idle streams cost those who place orders."""

import statistics
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx
import psutil
import pytest

from services.orderctl.client import Http
from tests.live_stack import LiveStack
from tests.saga.support.saga import Saga
from tests.saga.support.wait import until
from tests.saga.test_cases_streams import gauges, open_socket

STREAMS, POSTS, PAIRS = 1000, 60, 5


@pytest.mark.long
def test_a_thousand_idle_streams_raise_the_cost_of_a_post_by_less_than_a_quarter(
    saga: Saga, stack: LiveStack
) -> None:
    """Interleaved pairs; the median of the ratios."""
    ratios = []
    for _ in range(PAIRS):
        alone = _seconds_of_cpu(saga, stack)
        with _idle_streams(saga, stack):
            ratios.append(_seconds_of_cpu(saga, stack) / alone)
    assert statistics.median(ratios) < 1.25, ratios


def _seconds_of_cpu(saga: Saga, stack: LiveStack) -> float:
    """What the order service uses for so many orders, each of which ends out of stock."""
    process = psutil.Process(stack.pid("order"))
    with httpx.Client(base_url=stack.url("order")) as client:
        before = process.cpu_times()
        for _ in range(POSTS):
            body = saga.body({saga.unheard_of(): 1}, customer_id="customer-of-many")
            client.post("/orders", json=body).raise_for_status()
        after = process.cpu_times()
    return after.user + after.system - before.user - before.system


@contextmanager
def _idle_streams(saga: Saga, stack: LiveStack) -> Iterator[None]:
    """Streams of one order that waits for long."""
    order_id = saga.place(token="tok_slow_60000")
    http = Http("order", stack.url("order"))
    with ExitStack() as streams:
        for _ in range(STREAMS):
            streams.enter_context(open_socket(stack.url("order"), order_id))
        until(lambda: gauges(http)["order"] >= STREAMS, "the streams to wait")
        yield
    until(lambda: gauges(http)["order"] < STREAMS / 10, "the streams to be forgotten")
    saga.cancelled(order_id)
