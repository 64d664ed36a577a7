"""Payment's rules, database and worker against a real provider: where the money is at quiet."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from uuid import uuid4

import httpx
import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient
from sqlalchemy.exc import IntegrityError

from infra.local.waiting import until
from services.eventkit.decision import Event
from services.eventkit.http import create_app
from services.eventkit.worker import Worker
from services.payment.__main__ import SERVICE
from services.payment.domain import payment_key
from services.payment.settings import PaymentSettings
from tests.integration.fakes.processes import Running
from tests.integration.payment.books import asked, entries
from tests.integration.payment.conftest import TIMEOUT
from tests.integration.scratch import Scratch
from tests.unit.payment.inputs import CANCELLED, RESERVED
from tests.unit.ruleset import event

UNFINISHED = "SELECT count(*) FROM jobs WHERE status IN ('pending', 'running')"


@pytest.fixture
def order() -> str:
    return str(uuid4())


@pytest.fixture
def client(payment: Scratch) -> Iterator[TestClient]:
    with TestClient(
        create_app("payment", [SERVICE.routes(payment.runtime)], {}, access=payment.runtime.access)
    ) as made:
        yield made


def reserved(order: str, token: str = "tok_ok") -> Event:
    return event("StockReserved", {**RESERVED, "payment_token": token}, order)


def cancelled(order: str) -> Event:
    return event("OrderCancelled", CANCELLED, order)


@contextmanager
def working(payment: Scratch, provider: Running) -> Iterator[None]:
    """Payment's worker, stopped once no job is left."""
    settings = PaymentSettings(
        http_port=0,
        database_url="",
        kafka_bootstrap="",
        registry_url="",
        provider_url=provider.url,
        provider_timeout=TIMEOUT,
    )
    kinds = [replace(kind, backoff_cap=0.5) for kind in SERVICE.jobs(settings)]
    stop = threading.Event()
    thread = threading.Thread(
        target=Worker(payment.db, payment.engine, kinds, poll=0.02).run, args=[stop]
    )
    thread.start()
    try:
        yield
        until(lambda: payment.total(UNFINISHED) == 0, 60, "payment's jobs to be done")
    finally:
        stop.set()
        thread.join()


def status(payment: Scratch, order: str) -> tuple[str, int, int]:
    query = "SELECT status, captured, refunded FROM payments WHERE key = :key"
    ((name, captured, refunded),) = payment.rows(query, key=order)
    return name, captured, refunded


@pytest.mark.parametrize("token", ["tok_ok", "tok_flaky_2", "tok_timeout_then_ok", "tok_slow_900"])
def test_c15_money_is_taken_once_whatever_the_provider_does(
    payment: Scratch, provider: Running, bank: httpx.Client, order: str, token: str
) -> None:
    with working(payment, provider):
        payment.handle(reserved(order, token), reserved(order, token))
    assert status(payment, order) == ("captured", 4200, 0)
    assert payment.emitted(order) == ["PaymentCaptured"]
    assert entries(bank, order) == [("capture", 4200)]


def test_a_declined_card_is_said_with_its_reason(
    payment: Scratch, provider: Running, bank: httpx.Client, client: TestClient, order: str
) -> None:
    with working(payment, provider):
        payment.handle(reserved(order, "tok_declined"))
    assert payment.emitted(order) == ["PaymentDeclined"]
    assert client.get(f"/payments/{order}").json() == {
        "payment_id": payment_key(order),
        "order_id": order,
        "status": "declined",
        "amount": 4200,
        "currency": "EUR",
        "captured": 0,
        "refunded": 0,
        "reason": "card_declined",
        "version": 1,
    }


def test_c09_a_charge_under_way_when_the_order_is_cancelled_is_refunded(
    payment: Scratch, provider: Running, bank: httpx.Client, order: str
) -> None:
    with working(payment, provider):
        payment.handle(reserved(order, "tok_slow_1500"))
        until(lambda: bool(asked(bank, payment_key(order))), 30, "the charge to be asked for")
        payment.handle(cancelled(order))
    assert status(payment, order) == ("refunded", 4200, 4200)
    assert payment.emitted(order) == ["PaymentCaptured", "PaymentRefunded"]
    assert entries(bank, order) == [("capture", 4200), ("refund", 4200)]


def test_c10_nothing_moves_after_the_refund(
    payment: Scratch, provider: Running, bank: httpx.Client, order: str
) -> None:
    with working(payment, provider):
        payment.handle(reserved(order))
    with working(payment, provider):
        payment.handle(cancelled(order))
    with working(payment, provider):
        assert payment.handle(reserved(order), cancelled(order)) == ["ignored:already_refunded"] * 2
    assert entries(bank, order) == [("capture", 4200), ("refund", 4200)]
    assert payment.emitted(order) == ["PaymentCaptured", "PaymentRefunded"]


def test_c12_a_charge_cancelled_in_the_batch_that_planned_it_is_never_asked_for(
    payment: Scratch, provider: Running, bank: httpx.Client, order: str
) -> None:
    with working(payment, provider):
        payment.handle(reserved(order), cancelled(order))
    assert status(payment, order) == ("voided", 0, 0)
    assert payment.emitted(order) == []
    assert asked(bank, payment_key(order)) == ["POST 200"]


def test_c06_a_cancelled_order_is_never_charged(
    payment: Scratch, provider: Running, bank: httpx.Client, order: str
) -> None:
    with working(payment, provider):
        payment.handle(cancelled(order))
        assert payment.handle(reserved(order)) == ["ignored:order_cancelled"]
    assert asked(bank, payment_key(order)) == []


def test_c14_a_refund_that_fails_for_good_is_said_and_only_then_tried_again_by_hand(
    payment: Scratch, provider: Running, bank: httpx.Client, client: TestClient, order: str
) -> None:
    assert client.post(f"/payments/{order}/refund").status_code == 404
    with working(payment, provider):
        payment.handle(reserved(order, "tok_ok.refund_flaky_3.refund_fails"))
    assert client.post(f"/payments/{order}/refund").status_code == 409
    with working(payment, provider):
        payment.handle(cancelled(order))
    assert status(payment, order) == ("refund_failed", 4200, 0)
    assert payment.emitted(order) == ["PaymentCaptured", "RefundFailed"]
    with working(payment, provider):
        answer = client.post(f"/payments/{order}/refund")
    assert (answer.status_code, answer.json()["status"]) == (202, "refunding")
    assert payment.emitted(order) == ["PaymentCaptured", "RefundFailed", "RefundFailed"]
    assert entries(bank, order) == [("capture", 4200)]


def test_an_operator_has_the_refund_of_any_tenant_tried_again(
    payment: Scratch, provider: Running, client: TestClient, order: str
) -> None:
    path, decision = f"/operations/payments/{order}/refund", {"by": "anna", "why": "it is paid now"}
    assert client.post(path, json=decision).status_code == 404
    with working(payment, provider):
        payment.handle(reserved(order, "tok_ok.refund_fails_1"))
    with working(payment, provider):
        payment.handle(cancelled(order))
    with payment.db.begin() as conn:
        query = "UPDATE payments SET tenant_id = 'acme' WHERE key = :key"
        conn.execute(sa.text(query), {"key": order})
    assert client.post(f"/payments/{order}/refund").status_code == 404
    assert client.post(path, json={}).status_code == 422
    with working(payment, provider):
        answer = client.post(path, json=decision)
    assert (answer.status_code, answer.json()["status"]) == (202, "refunding")
    assert status(payment, order) == ("refunded", 4200, 4200)
    assert client.post(path, json=decision).status_code == 409
    kept = "SELECT made_by, action, why FROM decisions WHERE subject = :key"
    assert [tuple(row) for row in payment.rows(kept, key=order)] == [
        ("anna", "retry_refund", "it is paid now")
    ]


def test_a_provider_that_comes_back_is_asked_then(
    payment: Scratch, provider: Running, bank: httpx.Client, order: str
) -> None:
    provider.stop()
    with working(payment, provider):
        payment.handle(reserved(order))
        query = "SELECT last_error FROM jobs WHERE key = :key AND attempts = 0"
        until(lambda: "ConnectError" in str(payment.rows(query, key=order)), 30, "a refusal")
        provider.start()
    assert entries(bank, order) == [("capture", 4200)]


@pytest.mark.parametrize(
    "change",
    ["captured = amount + 1", "refunded = captured + 1", "captured = -1", "status = 'paid'"],
)
def test_the_database_refuses_money_that_does_not_add_up(
    payment: Scratch, order: str, change: str
) -> None:
    payment.handle(reserved(order))
    with pytest.raises(IntegrityError), payment.db.begin() as conn:
        conn.execute(sa.text(f"UPDATE payments SET {change} WHERE key = :key"), {"key": order})
