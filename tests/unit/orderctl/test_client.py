from typing import Any

import httpx
import pytest

from services.orderctl.client import Http, pages, problem_text
from services.orderctl.errors import CliError


def answer(status: int, body: Any = None, text: str = "") -> httpx.Response:
    content = {"text": text} if body is None else {"json": body}
    return httpx.Response(status, **content)


def test_a_problem_is_told_with_its_fields() -> None:
    body = {"detail": "1 invalid field", "errors": [{"field": "total", "message": "too big"}]}
    assert problem_text(answer(422, body)) == "1 invalid field; total: too big"


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (answer(502, text="<html>bad gateway"), "<html>bad gateway"),
        (answer(500, text=""), "Internal Server Error"),
        (answer(409, {"title": "Conflict"}), "Conflict"),
        (answer(400, ["odd"]), "['odd']"),
    ],
)
def test_any_other_answer_is_told_too(response: httpx.Response, expected: str) -> None:
    assert problem_text(response) == expected


def test_a_service_that_is_down_is_named_with_the_next_step() -> None:
    with pytest.raises(CliError, match=r"order does not answer at http://127\.0\.0\.1:1") as raised:
        Http("order", "http://127.0.0.1:1/").call("GET", "/orders")
    assert (raised.value.code, "make up" in raised.value.next_step) == (3, True)


def test_pages_are_read_to_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {0: ([1, 2], 2), 2: ([3, 4], 4), 4: ([], None)}

    def call(_self: Http, _method: str, _path: str, params: dict[str, int]) -> Any:
        items, after = found[params["after"]]
        return {"entries": items, "next_after": after}

    monkeypatch.setattr(Http, "call", call)
    assert pages(Http("ledger", "http://127.0.0.1:1"), "/ledger", "entries", 2) == [1, 2, 3, 4]
