"""What a command says where the broker, the registry or a database does not let it go on."""

from typing import Final

import psycopg
from sqlalchemy.exc import SQLAlchemyError

from services.eventkit import db
from services.eventkit.logs import short
from services.eventkit.positions import Unreachable
from services.eventkit.registry import RegistryUnavailable
from services.orderctl.errors import NOT_ANSWERING, CliError

UNDERNEATH: Final = (Unreachable, RegistryUnavailable, SQLAlchemyError, psycopg.Error)
"""Errors of what a command stands on; copying meets those of the driver itself."""

_GONE = ("08", "57P")
"""How the SQLSTATE begins where the server goes; a connection that was lost has none."""


def failed(error: Exception, then: str) -> CliError:
    """The command's error for one of `UNDERNEATH`; ``then`` is what to do next.

    Its code tells a part that is away, which comes back, from one that is there and refuses.
    """
    away = _is_away(error)
    text = f"database: {short(error)}" if _is_of_database(error) else str(error)
    look = "make status shows what is down, make up starts it; then " if away else ""
    return CliError(text, look + then, NOT_ANSWERING if away else 1)


def _is_of_database(error: Exception) -> bool:
    return isinstance(error, (SQLAlchemyError, psycopg.Error))


def _is_away(error: Exception) -> bool:
    if not _is_of_database(error):
        return True
    cause = getattr(error, "orig", None) or error
    if not isinstance(cause, (psycopg.OperationalError, psycopg.InterfaceError)):
        return False
    state = db.sqlstate(cause)
    return not state or state.startswith(_GONE)
