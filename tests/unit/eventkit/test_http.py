"""Every error of an API is problem details that name the field."""

from typing import Any

import pytest
from fastapi import APIRouter
from psycopg.errors import UndefinedTable
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.exc import DataError, OperationalError, ProgrammingError
from starlette.testclient import TestClient

from services.eventkit.http import PROBLEM_JSON, Check, FieldError, Problem, create_app


class Item(BaseModel):
    """A body to validate."""

    model_config = ConfigDict(extra="forbid", strict=True)
    quantity: int = Field(ge=1)


def _client(reason: str | None = None) -> TestClient:
    router = APIRouter()

    @router.post("/items")
    def add(items: list[Item]) -> str:
        return "ok"

    @router.get("/fails/{how}")
    def fail(how: str) -> str:
        if how == "database":
            raise OperationalError("SELECT 1", {}, Exception("gone"))
        if how == "statement":
            raise ProgrammingError("SELECT 1", {}, UndefinedTable("no such table"))
        if how == "nul":
            raise DataError(
                "SELECT 1", {}, Exception("text fields cannot contain NUL (0x00) bytes")
            )
        if how == "problem":
            raise Problem(409, "order-ended", "Too late.", [FieldError(field="x", message="y")])
        raise ZeroDivisionError(how)

    app = create_app("test", [router], {"part": lambda: reason})
    return TestClient(app, raise_server_exceptions=False)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('[{"quantity": 0}]', "0.quantity"),
        ('[{"quantity": 1}, {"quantity": 1.5}]', "1.quantity"),
        ('[{"quantity": NaN}]', "0.quantity"),
        ('[{"quantity": 1e400}]', "0.quantity"),
        ('[{"quantity": true}]', "0.quantity"),
        ('[{"quantity": "3"}]', "0.quantity"),
        ('[{"quantity": 1, "colour": "red"}]', "0.colour"),
        ("[{}]", "0.quantity"),
        ("{", "body"),
        ("17", "body"),
    ],
)
def test_c22_an_invalid_body_is_422_and_names_the_field(body: str, field: str) -> None:
    answer = _client().post("/items", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == PROBLEM_JSON
    problem: dict[str, Any] = answer.json()
    assert problem["type"] == "/problems/invalid-request"
    assert [error["field"] for error in problem["errors"]] == [field]


@pytest.mark.parametrize(
    ("path", "status", "type_"),
    [
        ("/fails/problem", 409, "/problems/order-ended"),
        ("/fails/database", 503, "/problems/unavailable"),
        ("/fails/statement", 500, "/problems/internal-error"),
        ("/fails/nul", 422, "/problems/invalid-request"),
        ("/fails/bug", 500, "/problems/internal-error"),
        ("/nowhere", 404, "/problems/not-found"),
        ("/items", 405, "/problems/method-not-allowed"),
    ],
)
def test_every_error_is_problem_details(path: str, status: int, type_: str) -> None:
    answer = _client().get(path)
    assert (answer.status_code, answer.json()["type"]) == (status, type_)
    assert answer.headers["content-type"] == PROBLEM_JSON


def test_a_body_that_is_no_text_is_invalid() -> None:
    headers = {"content-type": "application/json"}
    answer = _client().post("/items", content=b'["\xff"]', headers=headers)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "body")


def test_a_bug_does_not_show_its_insides() -> None:
    assert "ZeroDivision" not in _client().get("/fails/bug").text


def test_an_absent_database_says_when_to_try_again() -> None:
    assert _client().get("/fails/database").headers["retry-after"] == "1"


def test_readiness_says_why_not() -> None:
    assert _client().get("/health/ready").status_code == 200
    answer = _client("no partition assigned yet").get("/health/ready")
    assert answer.status_code == 503
    assert answer.json()["reasons"] == {"part": "no partition assigned yet"}


def test_readiness_can_be_asked_while_a_service_is_starting() -> None:
    checks: dict[str, Check] = {}

    def start() -> str:
        checks["consumer"] = lambda: None
        return "starting"

    checks["start"] = start
    answer = TestClient(create_app("test", [], checks)).get("/health/ready")
    assert (answer.status_code, answer.json()["reasons"]) == (503, {"start": "starting"})
