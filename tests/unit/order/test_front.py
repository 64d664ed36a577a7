"""The front page leads to what describes the API and the events."""

import re

from fastapi.testclient import TestClient

from services.eventkit.http import create_app
from services.order.front import ASYNCAPI_JSON, front_routes


def test_the_front_page_links_descriptions_that_are_there() -> None:
    client = TestClient(create_app("order", [front_routes()], {}))
    answer = client.get("/")
    linked = re.findall(r'<(\S+)>; rel="service-(?:desc|doc)"', answer.headers["Link"])
    assert set(linked) == {answer.json()[name] for name in ("docs", "openapi", "asyncapi")}
    for path in linked:
        assert client.get(path).status_code == 200
    events = client.get(answer.json()["asyncapi"])
    assert events.headers["content-type"] == ASYNCAPI_JSON
    assert events.json()["asyncapi"] == "3.0.0"
