"""How far the read model has read the topics."""

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from services.eventkit.positions import Place, Unreachable
from services.projector.tables import projection_offsets


def stored_offsets(engine: Engine) -> dict[Place, int]:
    """The next offsets as the last batches stored them; raises `Unreachable`."""
    try:
        with engine.connect() as conn:
            return offsets_in(conn)
    except SQLAlchemyError as error:
        raise Unreachable(f"database: {str(error).splitlines()[0]}") from error


def offsets_in(conn: Connection) -> dict[Place, int]:
    """The same inside a transaction."""
    rows = conn.execute(sa.select(projection_offsets))
    return {(row.topic, row.partition): row.next_offset for row in rows}
