"""The read API over a read model with known orders."""

from collections.abc import Iterator
from itertools import chain
from uuid import UUID, uuid4

import pytest
from fastapi.testclient import TestClient

from services.projector.api import LAG_HEADER, create_read_api
from services.projector.lag import LagMeter
from tests.integration.projector.rig import Rig, wait_for
from tests.integration.projector.traffic import story
from tests.unit.projector.stories import CONFIRMED, DECLINED, STORIES

EACH = 5
NOBODYS = UUID(int=0)


@pytest.fixture(scope="module")
def orders(rig: Rig) -> dict[UUID, str]:
    """Five orders of every story, and one of another tenant."""
    made = {uuid4(): name for name in STORIES for _ in range(EACH)}
    for order_id, name in made.items():
        rig.produce(story(STORIES[name], order_id))
    rig.produce(story(CONFIRMED, uuid4(), tenant="other"))
    rig.caught_up()
    return made


@pytest.fixture(scope="module")
def client(rig: Rig, orders: dict[UUID, str]) -> Iterator[TestClient]:
    meter = LagMeter(rig.engine, rig.bootstrap, rig.topics)
    with TestClient(create_read_api(rig.engine, meter)) as made:
        yield made


def pages(client: TestClient, **filters: str | int) -> Iterator[list[str]]:
    """Every page of the list, by following the cursor."""
    before: dict[str, str] = {}
    while True:
        answer = client.get("/orders", params={**filters, **before}).json()
        yield [order["order_id"] for order in answer["orders"]]
        if answer["next"] is None:
            return
        before = {"before": answer["next"]}


def test_pages_have_every_order_once_newest_first(
    client: TestClient, orders: dict[UUID, str]
) -> None:
    found = list(pages(client, limit=7))
    assert [len(page) for page in found] == [7, 7, 6]
    assert sorted(chain(*found)) == sorted(str(order_id) for order_id in orders)
    listed = client.get("/orders").json()["orders"]
    began = [order["began_at"] for order in listed]
    assert began == sorted(began, reverse=True)


def test_filters(client: TestClient, orders: dict[UUID, str]) -> None:
    confirmed = pages(client, status="confirmed", limit=2)
    assert sorted(chain(*confirmed)) == sorted(
        str(o) for o, name in orders.items() if name == "confirmed"
    )
    assert len(list(chain(*pages(client, customer_id="c-1")))) == len(orders)
    assert list(pages(client, customer_id="nobody")) == [[]]


def test_more_filters(client: TestClient, orders: dict[UUID, str]) -> None:
    def listed(**filters: str) -> list[str]:
        return sorted(chain(*pages(client, limit=3, **filters)))

    def told(*names: str) -> list[str]:
        return sorted(str(order_id) for order_id, name in orders.items() if name in names)

    assert listed(reason="payment_declined") == told("declined")
    assert listed(payment_status="captured") == told("confirmed")
    assert listed(currency="EUR", status="cancelled") == told(*set(STORIES) - {"confirmed"})
    began = client.get("/orders", params={"limit": 1}).json()["orders"][0]["began_at"]
    assert len(listed(since=began)) + len(listed(until=began)) == len(orders)
    assert listed(since=began) != [] and listed(since=began, until=began) == []


def test_search_finds_orders_by_their_words(client: TestClient, orders: dict[UUID, str]) -> None:
    def found(words: str, **filters: str) -> list[str]:
        return sorted(chain(*pages(client, limit=3, q=words, **filters)))

    every = sorted(str(order_id) for order_id in orders)
    assert found("cup") == found("CU c-1") == every
    assert found(every[0]) == [every[0]]
    out_of_stock = sorted(str(o) for o, name in orders.items() if name == "out_of_stock")
    assert found("unknown_contact") == found("c-1 out_of") == out_of_stock
    assert found("cup", status="confirmed", customer_id="c-1") == sorted(
        str(order_id) for order_id, name in orders.items() if name == "confirmed"
    )
    for nothing in ("teapot", "cup teapot", "'", "\\", "& | !", "cup:*", "'x' & 'y"):
        assert len(found(nothing)) in (0, len(every))


def test_the_history_of_an_order_has_offsets(client: TestClient, orders: dict[UUID, str]) -> None:
    order_id = next(order_id for order_id, name in orders.items() if name == "declined")
    answer = client.get(f"/orders/{order_id}/events").json()
    assert answer["events"] == client.get(f"/orders/{order_id}").json()["timeline"]
    assert [event["event_type"] for event in answer["events"]] == [step[0] for step in DECLINED]
    assert len({(e["topic"], e["partition"], e["offset"]) for e in answer["events"]}) == len(
        DECLINED
    )


def test_a_write_is_waited_for(rig: Rig, client: TestClient) -> None:
    order_id = uuid4()
    behind = client.get(f"/orders/{order_id}", params={"after": 1, "wait": 0.2})
    assert (behind.status_code, behind.headers["retry-after"]) == (503, "1")
    assert behind.json()["type"] == "/problems/not-seen-yet"
    rig.produce(story(CONFIRMED, order_id))
    seen = client.get(f"/orders/{order_id}", params={"after": 2, "wait": 30})
    assert (seen.status_code, seen.json()["order_sequence"]) == (200, 2)
    later = client.get(f"/orders/{order_id}/events", params={"after": 3, "wait": 0})
    assert later.status_code == 503


def test_one_order_with_its_timeline(client: TestClient, orders: dict[UUID, str]) -> None:
    order_id = next(order_id for order_id, name in orders.items() if name == "declined")
    answer = client.get(f"/orders/{order_id}").json()
    assert (answer["status"], answer["reason"]) == ("cancelled", "payment_declined")
    assert [entry["event_type"] for entry in answer["timeline"]] == [step[0] for step in DECLINED]
    assert {"topic", "partition", "offset", "causation_id", "data"} <= set(answer["timeline"][0])


@pytest.mark.parametrize(
    ("path", "status", "field"),
    [
        (f"/orders/{NOBODYS}", 404, None),
        ("/orders/seven", 422, "path.order_id"),
        ("/orders?limit=0", 422, "query.limit"),
        ("/orders?status=lost", 422, "query.status"),
        ("/orders?before=rubbish", 422, "before"),
        ("/orders?q=%20", 422, "query.q"),
        ("/orders?since=2026-01-01T00:00:00", 422, "query.since"),
        ("/orders?since=18", 422, "query.since"),
        (f"/orders/{NOBODYS}/events", 404, None),
        (f"/orders/{NOBODYS}?after=1&wait=0", 503, None),
        ("/nowhere", 404, None),
    ],
)
def test_errors_are_problem_details(
    client: TestClient, path: str, status: int, field: str | None
) -> None:
    answer = client.get(path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert LAG_HEADER in answer.headers
    errors = answer.json().get("errors", [])
    assert [error["field"] for error in errors] == ([field] if field else [])


def test_lag_is_zero_when_all_is_read(client: TestClient) -> None:
    answer = client.get("/lag")
    assert (answer.json()["events"], answer.json()["seconds"]) == (0, 0.0)
    assert len(answer.json()["partitions"]) == 15
    assert answer.headers[LAG_HEADER] == "events=0; seconds=0.0"


def test_lag_counts_what_is_not_read_yet_and_knows_its_age(
    rig: Rig, orders: dict[UUID, str]
) -> None:
    rig.kill()
    rig.produce(story(CONFIRMED, uuid4()))
    meter = LagMeter(rig.engine, rig.bootstrap, rig.topics)
    assert meter.latest().events == len(CONFIRMED)
    wait_for(lambda: 0 < (meter.latest().seconds or 0) < 60, 10, "the lag to have an age")
    rig.start()
    rig.caught_up()


def test_a_broker_that_is_away_leaves_the_list_and_hides_the_lag(rig: Rig) -> None:
    meter = LagMeter(rig.engine, "127.0.0.1:1", rig.topics)
    with TestClient(create_read_api(rig.engine, meter)) as client:
        listed = client.get("/orders")
        assert listed.status_code == 200
        assert listed.headers[LAG_HEADER] == "events=unknown; seconds=unknown"
        assert client.get("/lag").status_code == 503
