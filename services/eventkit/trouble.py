"""What keeps a loop from going on, and how the log calls it: somebody is away, or we are refused.

Either way the same work is tried again for ever, because nothing may be lost. But whoever reads the
log must not look for a database that is there.
"""

from typing import Any, Final

from sqlalchemy.exc import SQLAlchemyError

from services.eventkit import db
from services.eventkit.logs import short
from services.eventkit.registry import RegistryUnavailable

INFRASTRUCTURE: Final = (SQLAlchemyError, RegistryUnavailable, OSError)
"""What says nothing about the event or the job in hand."""

AWAY: Final = "infrastructure away"
REFUSED: Final = "the database refuses a statement of ours"


def is_the_records_fault(error: BaseException, *more: type[Exception]) -> bool:
    """True where the same records would fail again: neither infrastructure nor ``more`` is away."""
    return db.is_bad_data(error) or not isinstance(error, (*INFRASTRUCTURE, *more))


def tell(log: Any, error: BaseException, then: str, **fields: Any) -> None:
    """Logs why the work in hand waits, and ``then``: what waits or comes next.

    A refused statement is an error of ours that somebody has to mend; what is away comes back.
    """
    if db.is_refused(error):
        log.error(f"{REFUSED}, {then}", sqlstate=db.sqlstate(error), error=short(error), **fields)
    else:
        log.warning(f"{AWAY}, {then}", error=short(error), **fields)
