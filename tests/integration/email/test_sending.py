"""From the ending of an order to the mailbox: rules, jobs, worker and a real mail server."""

import threading
from collections.abc import Iterator
from uuid import uuid4

import pytest
from tenacity import retry, stop_after_delay, wait_fixed

from services.email.jobs import kinds
from services.email.settings import EmailSettings
from services.email.store import Contact, put_contact
from services.eventkit.worker import Worker
from tests.integration.email.inputs import cancelled, confirmed
from tests.integration.fakes.mails import stored
from tests.integration.fakes.processes import Running
from tests.integration.scratch import Scratch


@pytest.fixture(scope="module")
def working(email: Scratch, sink: Running) -> Iterator[None]:
    """Email's worker at work, with a mail server that it waits half a second for."""
    settings = EmailSettings(
        http_port=1,
        database_url=email.db.url.render_as_string(hide_password=False),
        kafka_bootstrap="not used by jobs",
        registry_url="not used by jobs",
        smtp_host="127.0.0.1",
        smtp_port=sink.smtp_port,
        smtp_timeout=0.5,
    )
    stop = threading.Event()
    worker = Worker(email.db, email.engine, kinds(settings), poll=0.05)
    thread = threading.Thread(target=worker.run, args=[stop])
    thread.start()
    yield
    stop.set()
    thread.join()


def customer(email: Scratch, local_part: str) -> str:
    """A customer of one's own whose address begins like that."""
    customer_id = str(uuid4())
    address = f"{local_part}.{customer_id[:8]}@shop.example"
    with email.db.begin() as conn:
        put_contact(conn, Contact("demo", customer_id, "Ada", address))
    return customer_id


@retry(stop=stop_after_delay(20), wait=wait_fixed(0.05), reraise=True)
def wait_for(email: Scratch, key: str, *emitted: str) -> None:
    """Return when the order's events are these."""
    assert email.emitted(key) == list(emitted)


def ended(email: Scratch, key: str) -> list[tuple[str, str, int]]:
    """Kind, status and attempts of the order's jobs."""
    query = "SELECT kind, status, attempts FROM jobs WHERE key = :key ORDER BY kind"
    return [(kind, status, attempts) for kind, status, attempts in email.rows(query, key=key)]


@pytest.mark.usefixtures("working")
def test_a_confirmed_order_arrives_in_the_mailbox(email: Scratch, sink: Running) -> None:
    key = str(uuid4())
    email.handle(confirmed(key, customer(email, "ada")))
    wait_for(email, key, "EmailSent")
    (mail,) = stored(sink, order_id=key)
    assert mail["message_id"] == f"<{key}.confirmed@order-saga.example>"
    assert ended(email, key) == [("mail_confirmed", "succeeded", 1)]


@pytest.mark.usefixtures("working")
def test_an_order_with_an_unknown_contact_fails_once(email: Scratch, sink: Running) -> None:
    key = str(uuid4())
    email.handle(cancelled(key, "nobody"))
    wait_for(email, key, "EmailFailed")
    assert stored(sink, order_id=key) == []
    assert ended(email, key) == [("mail_cancelled", "failed", 1)]


@pytest.mark.usefixtures("working")
def test_a_refused_address_fails_once_and_is_in_no_row(email: Scratch) -> None:
    key = str(uuid4())
    email.handle(cancelled(key, customer(email, "refuse")))
    wait_for(email, key, "EmailFailed")
    query = "SELECT jobs::text FROM jobs WHERE key = :key UNION ALL SELECT messages::text"
    rows = email.rows(f"{query} FROM messages WHERE key = :key", key=key)
    assert len(rows) == 2
    assert not [row for row in rows if "shop.example" in row[0]]
    payload = email.rows("SELECT payload FROM outbox WHERE aggregate_id = :key", key=key)
    assert b"smtp_550" in bytes(payload[0][0])


@pytest.mark.usefixtures("working")
def test_a_flaky_server_is_asked_until_it_takes_the_mail(email: Scratch, sink: Running) -> None:
    key = str(uuid4())
    email.handle(confirmed(key, customer(email, "flaky-3")))
    wait_for(email, key, "EmailSent")
    assert len(stored(sink, order_id=key)) == 1
    assert ended(email, key) == [("mail_confirmed", "succeeded", 4)]


@pytest.mark.usefixtures("working")
def test_a_server_that_is_down_costs_no_attempt(email: Scratch, sink: Running) -> None:
    key = str(uuid4())
    sink.kill()
    email.handle(confirmed(key, customer(email, "ada")))
    wait_until_postponed(email, key)
    sink.start()
    wait_for(email, key, "EmailSent")
    assert len(stored(sink, order_id=key)) == 1
    assert ended(email, key) == [("mail_confirmed", "succeeded", 1)]


@retry(stop=stop_after_delay(20), wait=wait_fixed(0.05), reraise=True)
def wait_until_postponed(email: Scratch, key: str) -> None:
    """Return when the order's job has met a server that is down."""
    ((error,),) = email.rows("SELECT last_error FROM jobs WHERE key = :key", key=key)
    assert error == "no connection: ConnectionRefusedError"
