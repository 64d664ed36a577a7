"""The pause of a replay: a lease in the database, so that a replay that dies stops nobody for long.

Every batch share-locks the one row of ``projection_state``; taking the pause waits for batches that
are under way, and no batch commits after it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from services.projector.tables import projection_state

_STATE = projection_state.c
_IN_FORCE = sa.func.coalesce(_STATE.paused_until > sa.func.now(), sa.false())


class Paused(Exception):
    """A replay has stopped the projector: the batch must not be written now."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Who stopped the projector, and until when unless they say so again."""

    by: str
    until: datetime


def share(conn: Connection) -> None:
    """Holds off a pause until this transaction ends; raises `Paused` where one is in force."""
    if conn.execute(sa.select(_IN_FORCE).with_for_update(read=True)).scalar_one():
        raise Paused


def current(engine: Engine) -> Pause | None:
    """The pause in force, if any."""
    query = sa.select(_STATE.paused_by, _STATE.paused_until).where(_IN_FORCE)
    with engine.connect() as conn:
        row = conn.execute(query).first()
    return Pause(*row) if row else None


def take(engine: Engine, by: str, lease: timedelta) -> bool:
    """Takes or prolongs the pause; False where someone else holds it."""
    free = sa.or_(sa.not_(_IN_FORCE), _STATE.paused_by == by)
    until = sa.func.now() + lease
    return _set(engine, free, paused_by=by, paused_until=until)


def release(engine: Engine, by: str) -> bool:
    """Ends the pause; False where ``by`` no longer held it."""
    return _set(engine, _STATE.paused_by == by, paused_by=None, paused_until=None)


def _set(engine: Engine, condition: sa.ColumnElement[bool], **values: object) -> bool:
    with engine.begin() as conn:
        changed = conn.execute(sa.update(projection_state).where(condition).values(**values))
    return changed.rowcount == 1
