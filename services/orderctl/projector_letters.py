"""The projector's dead letters: rows only, since it has no operations API.

They can be looked at and given up, not run again: a replay reads their records again.
"""

import sqlalchemy as sa

from services.orderctl.errors import CliError
from services.orderctl.operations import LETTER, Aside, Decided
from services.orderctl.settings import Settings, missing
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


_DISCARD = sa.text("""
UPDATE dead_letters
SET status = 'discarded', updated_at = now(), last_error = last_error || :decision
WHERE message_id = CAST(:id AS uuid) AND status = 'dead' RETURNING key""")


def discard(settings: Settings, message_id: str, by: str, why: str) -> list[Decided]:
    """Gives a letter of the projector up for good; who and why is added to its error.

    `CliError` where somebody else has dealt with it meanwhile.
    """
    if not settings.projector_database_url:
        raise missing("SAGA_PROJECTOR_DATABASE_URL")
    engine = sa.create_engine(settings.projector_database_url, poolclass=sa.NullPool)
    with engine.begin() as conn:
        values = {"id": message_id, "decision": f"\ndiscarded by {by}: {why}"}
        rows = conn.execute(_DISCARD, values).all()
    if not rows:
        text = f"{message_id} is no dead letter of the projector any more: nothing was changed"
        raise CliError(text, "orderctl dlq list shows what is open")
    return [Decided(PROJECTOR, message_id, row.key, "discarded", "discarded") for row in rows]
