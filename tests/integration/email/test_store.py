"""Mailings and contacts in PostgreSQL: one message for each order and kind, whatever comes."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from sqlalchemy.exc import IntegrityError

from services.email.domain import Mailing, Message
from services.email.store import Contact, EmailStore, contact_of, mailing_of, put_contact
from tests.integration.email.inputs import cancelled, confirmed, refused, taken
from tests.integration.scratch import Scratch


def jobs(email: Scratch, key: str) -> list[str]:
    """The kinds of an order's jobs."""
    return [kind for (kind,) in email.rows("SELECT kind FROM jobs WHERE key = :key", key=key)]


def loaded(email: Scratch, key: str) -> Mailing | None:
    """The order's mailing as it is stored."""
    with email.db.connect() as conn:
        return EmailStore().load(conn, [key]).get(key)


def test_what_is_saved_is_loaded(email: Scratch) -> None:
    key = str(uuid4())
    email.handle(confirmed(key), cancelled(key), refused(key, "cancelled", "smtp_550"))
    messages = (Message("cancelled", "failed", "smtp_550"), Message("confirmed", "queued"))
    assert loaded(email, key) == Mailing(key, "demo", messages, version=1)


def test_c64_a_repeat_in_one_batch_is_mailed_once(email: Scratch) -> None:
    key = str(uuid4())
    outcomes = email.handle(confirmed(key), confirmed(key))
    assert outcomes == ["applied", "ignored:already_queued"]
    assert jobs(email, key) == ["mail_confirmed"]


def test_c64_a_repeat_under_a_new_id_is_mailed_once(email: Scratch) -> None:
    key = str(uuid4())
    email.handle(confirmed(key))
    email.handle(taken(key, "confirmed"))
    assert email.handle(confirmed(key)) == ["ignored:already_sent"]
    assert jobs(email, key) == ["mail_confirmed"]
    assert email.emitted(key) == ["EmailSent"]


def test_c64_repeats_at_the_same_time_are_mailed_once(email: Scratch) -> None:
    key = str(uuid4())
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda _: email.handle(confirmed(key)), range(16)))
    assert sorted(outcomes) == [["applied"]] + [["ignored:already_queued"]] * 15
    assert jobs(email, key) == ["mail_confirmed"]


def test_a_failed_mail_is_told(email: Scratch) -> None:
    key = str(uuid4())
    email.handle(cancelled(key), refused(key, "cancelled", "unknown_contact"))
    assert email.emitted(key) == ["EmailFailed"]


def test_another_tenants_mailing_is_not_there(email: Scratch) -> None:
    key = str(uuid4())
    email.handle(confirmed(key))
    with email.db.connect() as conn:
        assert mailing_of(conn, "demo", key) is not None
        assert mailing_of(conn, "other", key) is None


def test_the_last_contact_counts_and_each_tenant_has_its_own(email: Scratch) -> None:
    customer = str(uuid4())
    first, second = (Contact("demo", customer, "Ada", f"{n}@shop.example") for n in "12")
    with email.db.begin() as conn:
        put_contact(conn, first)
        put_contact(conn, second)
        assert contact_of(conn, "demo", customer) == second
        assert contact_of(conn, "other", customer) is None


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("Eve\r\nBcc: all@shop.example", "eve@shop.example"),
        ("", "eve@shop.example"),
        ("Eve", "eve@shop.example\nBcc: all@shop.example"),
        ("Eve", "eve"),
    ],
)
def test_c64_the_database_refuses_a_contact_with_a_line_break(
    email: Scratch, name: str, address: str
) -> None:
    with pytest.raises(IntegrityError, match="check"), email.db.begin() as conn:
        put_contact(conn, Contact("demo", str(uuid4()), name, address))


@pytest.mark.parametrize(
    "message",
    [
        Message("thanks", "sent"),
        Message("confirmed", "lost"),
        Message("confirmed", "sent", "smtp_550"),
        Message("confirmed", "failed"),
    ],
)
def test_the_database_refuses_what_no_rule_may_write(email: Scratch, message: Message) -> None:
    key = str(uuid4())
    with pytest.raises(IntegrityError, match="check"), email.db.begin() as conn:
        EmailStore().save(conn, {key: Mailing(key, "demo", (message,))}, {})
