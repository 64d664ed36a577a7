"""The mail sink: real SMTP, a durable mailbox, faults by recipient."""

import smtplib
from pathlib import Path

import httpx
import pytest

from tests.integration.fakes.conftest import SINK
from tests.integration.fakes.mails import mail, send, stored
from tests.integration.fakes.processes import Running
from tests.saga.support.wait import until


def test_an_accepted_mail_is_shown(sink: Running) -> None:
    text = "Grüße, your order is confirmed."
    assert send(sink, mail("ada@shop.example", "<1.confirmed@x>", "order-1", text)) == 250
    (shown,) = stored(sink, to="ada@shop.example")
    assert shown["received_at"].endswith("Z")
    assert shown["text"].strip() == text
    assert {name: shown[name] for name in ("message_id", "order_id", "to", "from", "subject")} == {
        "message_id": "<1.confirmed@x>",
        "order_id": "order-1",
        "to": "ada@shop.example",
        "from": "shop@order-saga.example",
        "subject": "Your order",
    }


def test_mails_are_found_by_order_and_recipient(sink: Running) -> None:
    for number, to in enumerate(["bob@shop.example", "bob@shop.example", "eve@shop.example"]):
        send(sink, mail(to, f"<find.{number}@x>", f"find-{number % 2}"))
    assert [m["message_id"] for m in stored(sink, to="bob@shop.example")] == [
        "<find.0@x>",
        "<find.1@x>",
    ]
    assert [m["message_id"] for m in stored(sink, order_id="find-0")] == [
        "<find.0@x>",
        "<find.2@x>",
    ]
    assert len(stored(sink, order_id="find-0", to="eve@shop.example")) == 1
    assert stored(sink, order_id="nobody") == []


def test_mails_come_in_pages(sink: Running) -> None:
    for number in range(3):
        send(sink, mail("page@shop.example", f"<page.{number}@x>"))
    url = f"{sink.url}/messages?to=page@shop.example"
    page = httpx.get(f"{url}&limit=2").json()
    assert (len(page["messages"]), page["total"]) == (2, 3)
    rest = httpx.get(f"{url}&limit=2&after={page['next_after']}").json()
    assert [m["message_id"] for m in rest["messages"]] == ["<page.2@x>"]
    assert rest["next_after"] is None
    assert httpx.get(f"{url}&limit=0").status_code == 422


def test_the_same_mail_twice_is_shown_twice(sink: Running) -> None:
    for _ in range(2):
        send(sink, mail("twice@shop.example", "<twice@x>"))
    assert [m["message_id"] for m in stored(sink, to="twice@shop.example")] == ["<twice@x>"] * 2


def test_refuse_is_final_and_keeps_nothing(sink: Running) -> None:
    assert send(sink, mail("refuse.ada@shop.example", "<refuse@x>")) == 550
    assert stored(sink, to="refuse.ada@shop.example") == []


def test_flaky_refuses_the_first_deliveries_of_each_mail(sink: Running) -> None:
    to = "flaky-2.ada@shop.example"
    for message_id in ("<flaky.1@x>", "<flaky.2@x>"):
        answers = [send(sink, mail(to, message_id)) for _ in range(3)]
        assert answers == [451, 451, 250]
    assert len(stored(sink, to=to)) == 2


def test_a_slow_mail_is_kept_before_the_answer(sink: Running) -> None:
    to = "slow-2000.ada@shop.example"
    with pytest.raises(smtplib.SMTPServerDisconnected, match="timed out"):
        send(sink, mail(to, "<slow@x>"), timeout=0.5)
    assert len(stored(sink, to=to)) == 1


def test_faults_can_be_joined(sink: Running) -> None:
    to = "slow-1.flaky-1.ada@shop.example"
    assert [send(sink, mail(to, "<joined@x>")) for _ in range(2)] == [451, 250]


def test_a_mail_too_large_is_refused(sink: Running) -> None:
    text = "x" * 70 + "\n"
    assert send(sink, mail("large@shop.example", "<large@x>", text=text * 20_000)) == 552


def test_a_mail_without_ids_is_kept(sink: Running) -> None:
    with smtplib.SMTP("127.0.0.1", sink.smtp_port, timeout=10) as client:
        client.sendmail("a@x.example", ["bare@shop.example"], b"Subject: bare\r\n\r\nhi\r\n")
    (shown,) = stored(sink, to="bare@shop.example")
    assert (shown["message_id"], shown["order_id"]) == (None, None)


def test_a_kill_loses_no_accepted_mail_and_no_count(tmp_path: Path) -> None:
    running = Running(SINK, tmp_path)
    running.start()
    for number in range(10):
        assert send(running, mail("keep@shop.example", f"<keep.{number}@x>")) == 250
    assert send(running, mail("flaky-1@shop.example", "<flaky@x>")) == 451
    running.kill()
    running.start()
    assert len(stored(running, to="keep@shop.example")) == 10
    assert send(running, mail("flaky-1@shop.example", "<flaky@x>")) == 250
    assert running.stop() == 0


def test_copies_go_on_to_a_server_with_pages_and_nobody_waits_for_them(
    sink: Running, tmp_path: Path
) -> None:
    settings = {"SAGA_FORWARD_HOST": "127.0.0.1", "SAGA_FORWARD_PORT": str(sink.smtp_port)}
    front = Running(SINK, tmp_path, **settings)
    front.start()
    try:
        assert send(front, mail("flaky-1.copy@shop.example", "<copy.1@x>")) == 451
        assert send(front, mail("copy@shop.example", "<copy.2@x>")) == 250
        until(lambda: stored(sink, to="copy@shop.example"), "the copy")
        # What the sink itself did not accept is no mail.
        assert stored(sink, to="flaky-1.copy@shop.example") == []

        sink.stop()
        assert send(front, mail("copy@shop.example", "<copy.3@x>")) == 250
        assert len(stored(front, to="copy@shop.example")) == 2
        until(lambda: "copy_not_forwarded" in front.log, "the failed copy to be told")
    finally:
        front.stop()
        sink.start()
