"""What of a letter goes to the dlq topic."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

from services.eventkit.codec import Codec
from services.eventkit.dead_letters import DEAD, _mirror, put_aside
from services.eventkit.records import RawRecord
from services.eventkit.schemas import Schemas

NOW = datetime(2026, 1, 31, 9, 15, tzinfo=UTC)
CODEC = Codec(Schemas.load())
MIB = 2**20
RECORD = RawRecord("payment.jobs", 0, 0, b"order-1", b"{}", [("a", b"b")])
LETTER = put_aside(uuid4(), RECORD, None, "order-1", DEAD, "job", "no", NOW)


def test_a_job_that_dies_again_at_the_same_attempt_is_told_of_again() -> None:
    """At each redrive its attempts begin at one again."""
    again = replace(LETTER, record=replace(RECORD, offset=1))
    ids = {_mirror("payment", CODEC, one, NOW).envelope.message_id for one in (LETTER, again)}
    assert len(ids) == 2


def test_what_no_producer_would_send_is_left_out_of_the_mirror() -> None:
    huge = replace(RECORD, value=b"x" * 3 * MIB, headers=[("a", b"y" * 3 * MIB)])
    row = _mirror("payment", CODEC, replace(LETTER, record=huge), NOW)
    assert len(row.payload) < MIB // 2
