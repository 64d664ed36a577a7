"""Who may write the read model now: nobody during a pause, and only code of the model's version.

A replay's pause is a lease, so that a replay that dies stops nobody for long. Every batch
share-locks the one row of ``projection_state``; taking the pause waits for batches that are under
way, and no batch commits after it. The swap of a rebuild takes the same row.
"""

from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from services.eventkit.rebuild.tables import paused, projection_state
from services.projector import projections

_STATE = projection_state.c
_WANTED = (paused.label("in_force"), _STATE.paused_by, _STATE.paused_until, _STATE.version)


class Paused(Exception):
    """The batch must not be written now; the text says why not."""


def share(conn: Connection) -> None:
    """Holds off a pause and a swap until this transaction ends; raises `Paused`."""
    _check(conn.execute(sa.select(*_WANTED).with_for_update(read=True)).one())


def check(engine: Engine) -> None:
    """Raises `Paused` where a batch could not be written now."""
    with engine.connect() as conn:
        _check(conn.execute(sa.select(*_WANTED)).one())


def _check(row: sa.Row[Any]) -> None:
    if row.in_force:
        raise Paused(f"paused by {row.paused_by} until {row.paused_until:%H:%M:%S}")
    ours = projections.VERSION
    versions = f"the read model is of version {row.version}, this code of version {ours}"
    if row.version < ours:
        raise Paused(f"{versions}: orderctl replay --shadow builds it anew")
    if row.version > ours:
        raise Paused(f"{versions}: orderctl replay --rollback goes back")


def take(engine: Engine, by: str, lease: timedelta) -> bool:
    """Takes or prolongs the pause; False where someone else holds it."""
    free = sa.or_(sa.not_(paused), _STATE.paused_by == by)
    until = sa.func.now() + lease
    return _set(engine, free, paused_by=by, paused_until=until)


def release(engine: Engine, by: str) -> bool:
    """Ends the pause; False where ``by`` no longer held it."""
    return _set(engine, _STATE.paused_by == by, paused_by=None, paused_until=None)


def _set(engine: Engine, condition: sa.ColumnElement[bool], **values: object) -> bool:
    with engine.begin() as conn:
        changed = conn.execute(sa.update(projection_state).where(condition).values(**values))
    return changed.rowcount == 1
