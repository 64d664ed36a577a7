"""The log says whether something is away, or whether our own statement is refused."""

import psycopg
import pytest
from sqlalchemy.exc import (
    DBAPIError,
    OperationalError,
    ProgrammingError,
    StatementError,
    TimeoutError,
)
from structlog.testing import capture_logs

from services.eventkit import logs, trouble
from services.eventkit.db import is_bad_data
from services.eventkit.registry import RegistryUnavailable

LOG = logs.logger("test")


def error_of(kind: type[DBAPIError], cause: psycopg.Error) -> DBAPIError:
    """An error as SQLAlchemy raises it."""
    return kind("SELECT 1", {}, cause)


@pytest.mark.parametrize(
    ("cause", "sqlstate"),
    [
        (psycopg.errors.UndefinedTable("relation does not exist\nLINE 1"), "42P01"),
        (psycopg.errors.InsufficientPrivilege("permission denied"), "42501"),
        (psycopg.errors.SyntaxError("at or near"), "42601"),
    ],
)
def test_a_refused_statement_is_an_error_of_ours(cause: psycopg.Error, sqlstate: str) -> None:
    with capture_logs() as lines:
        trouble.tell(LOG, error_of(ProgrammingError, cause), "the batch waits", attempt=3)
    assert lines == [
        {
            "event": "the database refuses a statement of ours, the batch waits",
            "log_level": "error",
            "sqlstate": sqlstate,
            "error": f"{type(cause).__name__}: {str(cause).splitlines()[0]}",
            "attempt": 3,
        }
    ]


@pytest.mark.parametrize(
    "error",
    [
        error_of(OperationalError, psycopg.OperationalError("connection refused")),
        error_of(OperationalError, psycopg.errors.AdminShutdown("terminating connection")),
        error_of(OperationalError, psycopg.errors.LockNotAvailable("lock timeout")),
        TimeoutError("no connection is free"),
        RegistryUnavailable("no answer"),
        OSError(),
    ],
    ids=lambda error: type(getattr(error, "orig", error)).__name__,
)
def test_what_is_away_is_a_warning(error: Exception) -> None:
    with capture_logs() as lines:
        trouble.tell(LOG, error, "the batch waits")
    (line,) = lines
    assert line["event"] == "infrastructure away, the batch waits"
    assert line["log_level"] == "warning"
    assert isinstance(error, trouble.INFRASTRUCTURE)


def test_a_value_that_cannot_be_written_down_is_bad_data_and_not_an_absence() -> None:
    error = StatementError("datetime is not JSON serializable", "INSERT", {}, TypeError("no JSON"))
    assert is_bad_data(error)
    assert not is_bad_data(TimeoutError("no connection is free"))
