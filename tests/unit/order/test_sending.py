"""What an attempt makes of an answer, and of everything that can go wrong with it."""

import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import httpcore
import pytest
import sqlalchemy as sa
from standardwebhooks import Webhook as Signer

from services.eventkit.jobs import JobContext, Postpone
from services.order import webhook_store
from services.order.calling import Answer, Caller
from services.order.sending import DAY, Sender, signature
from services.order.webhooks import Delivery, OldSecret, Webhook
from tests.events import KEY, NOW

SECOND = timedelta(seconds=1)
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
WEBHOOK = Webhook("wh_1", "demo", "https://a.example", ("order.confirmed",), SECRET)
MESSAGE = Delivery("msg_1", "wh_1", "demo", KEY, "order.confirmed", {}, NOW, NOW)
JOB = JobContext(KEY, {"delivery_id": "msg_1"}, 1, "demo")

Answers = Callable[[Answer | Exception], Sender]


@pytest.fixture
def sender(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """A sender of `MESSAGE` whose call ends like this."""

    def made(end: Answer | Exception) -> Sender:
        def post(*_: object) -> Answer:
            if isinstance(end, Exception):
                raise end
            return end

        monkeypatch.setattr(webhook_store, "delivery", lambda *_: MESSAGE)
        monkeypatch.setattr(webhook_store, "webhook", lambda *_: WEBHOOK)
        monkeypatch.setattr(Caller, "post", post)
        return Sender(sa.create_engine("sqlite://"), True, 1.0)

    return made


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(200, "delivered"), (204, "delivered"), (302, "failed"), (410, "gone"), (500, "failed")],
)
def test_the_status_is_the_outcome(sender: Answers, status: int, outcome: str) -> None:
    told = sender(Answer(status)).send(JOB)
    assert (told["outcome"], told["answer"]) == (outcome, status)


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        ("120", 120.0),
        ("9" * 500, DAY),
        ("Fri, 31 Dec 9999 23:59:59 GMT", DAY),
        ("Mon, 01 Jan 2001 00:00:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 -2359", DAY),
        ("Mon, 01 Jan 2001 00:00:00 +99999999999999", None),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_a_receiver_says_when_to_come_again_and_nonsense_says_nothing(
    sender: Answers, retry_after: str | None, seconds: float | None
) -> None:
    told = sender(Answer(429, retry_after)).send(JOB)
    assert (told["outcome"], told["answer"], told["retry_after"]) == ("failed", 429, seconds)


@pytest.mark.parametrize(
    ("error", "logged"),
    [
        (httpcore.ReadTimeout("slow"), False),
        (httpcore.RemoteProtocolError("no HTTP"), False),
        (OSError("no name"), False),
        (ZeroDivisionError("a bug\x00"), True),
    ],
)
def test_whatever_goes_wrong_is_a_failed_attempt_of_this_delivery(
    sender: Answers, error: Exception, logged: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    told = sender(error).send(JOB)
    assert told["outcome"] == "failed"
    assert told["error"].startswith(type(error).__name__)
    assert "\x00" not in told["error"], "it could not be stored"
    assert ("an attempt raised" in capsys.readouterr().out) == logged


def test_a_database_that_is_away_uses_no_attempt(
    sender: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sender(Answer(204))

    def away(*_: object) -> None:
        raise sa.exc.OperationalError("SELECT", {}, Exception("no connection"))

    monkeypatch.setattr(webhook_store, "delivery", away)
    with pytest.raises(Postpone):
        made.send(JOB)


def test_every_secret_that_is_valid_signs_and_no_other() -> None:
    secrets = [f"whsec_{base64.b64encode(bytes([number]) * 24).decode()}" for number in range(3)]
    old = (OldSecret(secrets[1], NOW + SECOND), OldSecret(secrets[2], NOW))
    webhook = replace(WEBHOOK, secret=secrets[0], old_secrets=old)
    signed = signature(webhook, "msg_1", NOW, "{}").split(" ")
    assert signed == [Signer(secret).sign("msg_1", NOW, "{}") for secret in secrets[:2]]
