"""Requests are counted by route and status, so that ids in paths never become labels."""

from typing import Any

import pytest
from fastapi import APIRouter
from fastapi.testclient import TestClient
from prometheus_client import REGISTRY

from services.eventkit.http import Problem, create_app


def answered(method: str, route: str, status: int) -> float:
    labels = {"method": method, "route": route, "status": str(status)}
    return REGISTRY.get_sample_value("saga_http_requests_total", labels) or 0


def timed(route: str) -> float:
    labels = {"method": "GET", "route": route}
    return REGISTRY.get_sample_value("saga_http_request_seconds_count", labels) or 0


@pytest.fixture
def client() -> TestClient:
    router = APIRouter(prefix="/counted")

    @router.get("/{thing_id}")
    def read(thing_id: str, wait: int = 0) -> dict[str, Any]:
        if thing_id == "away":
            raise Problem(503, "unavailable", "away")
        if thing_id == "bug":
            raise RuntimeError("a bug")
        return {}

    return TestClient(create_app("counted", [router], {}), raise_server_exceptions=False)


def test_a_request_is_counted_by_its_route(client: TestClient) -> None:
    for thing in ("one", "two", "away", "bug"):
        client.get(f"/counted/{thing}")
    route = "/counted/{thing_id}"
    assert [answered("GET", route, status) for status in (200, 503, 500)] == [2, 1, 1]
    assert timed(route) == 4
    client.get("/counted/one?wait=30")
    assert answered("GET", route, 200) == 3
    assert timed(route) == 4


def test_what_is_not_there_shares_one_label(client: TestClient) -> None:
    before = answered("GET", "unmatched", 404), answered("other", "unmatched", 404)
    client.get("/nowhere/1")
    client.get("/nowhere/2")
    client.request("BREW", "/nowhere")
    after = answered("GET", "unmatched", 404), answered("other", "unmatched", 404)
    assert (after[0] - before[0], after[1] - before[1]) == (2, 1)


def test_a_look_at_the_metrics_is_not_counted(client: TestClient) -> None:
    assert "saga_http_requests_total" in client.get("/metrics").text
    assert answered("GET", "/metrics", 200) == 0
