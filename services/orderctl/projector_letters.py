"""The projector's dead letters: rows only, since it has no operations API. To look at, not to run.

A replay reads what was put aside again.
"""

import sqlalchemy as sa

from services.orderctl.operations import LETTER, Aside
from services.orderctl.settings import Settings
from services.orderctl.verify.databases import reading

PROJECTOR = "projector"

_OPEN = sa.text("""
SELECT message_id::text AS id, key, coalesce(event_type, '(no type)') AS what, status, reason,
       last_error AS error, attempts, failed_at AS since,
       topic || '/' || partition || '@' || "offset" AS place
FROM dead_letters WHERE status IN ('dead', 'parked', 'quarantined') ORDER BY failed_at""")


def open_letters(settings: Settings) -> list[Aside]:
    """What the projector has put aside and nobody has dealt with."""
    with reading(settings, PROJECTOR) as conn:
        rows = conn.execute(_OPEN).mappings()
        return [Aside(service=PROJECTOR, kind=LETTER, **row) for row in rows]
