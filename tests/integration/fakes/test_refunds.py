"""Refunds by the fake payment provider."""

import httpx
import pytest

from tests.integration.fakes.bank import charge, moved, new_key, refund, requests_of


def captured(bank: httpx.Client, token: str = "tok_ok") -> tuple[str, str]:
    """The keys of a captured charge of 4200 and of a refund to be made."""
    key = new_key()
    assert charge(bank, key, token).json()["status"] == "captured"
    return key, key.replace("payment", "refund")


def test_a_refund_moves_the_money_back(bank: httpx.Client) -> None:
    key, refund_key = captured(bank)
    answer = refund(bank, refund_key, key, 4200)
    assert answer.status_code == 201
    body = answer.json()
    assert body.pop("refund_id").startswith("re_")
    assert body == {
        "refund_key": refund_key,
        "charge_key": key,
        "status": "refunded",
        "amount": 4200,
        "currency": "EUR",
        "reason": None,
    }
    assert moved(bank, key) == [("capture", 4200), ("refund", 4200)]


def test_a_repeat_refunds_once(bank: httpx.Client) -> None:
    key, refund_key = captured(bank)
    first = refund(bank, refund_key, key, 4200)
    assert refund(bank, refund_key, key, 4200).json() == first.json()
    assert bank.get(f"/refunds/{refund_key}").json() == first.json()
    assert moved(bank, key) == [("capture", 4200), ("refund", 4200)]
    assert requests_of(bank, refund_key) == [
        ("POST", "/refunds", 201),
        ("POST", "/refunds", 201),
        ("GET", f"/refunds/{refund_key}", 200),
    ]


def test_one_key_with_another_content_is_422(bank: httpx.Client) -> None:
    key, refund_key = captured(bank)
    refund(bank, refund_key, key, 4200)
    answer = refund(bank, refund_key, key, 4199)
    assert (answer.status_code, answer.json()["error"]) == (422, "key_reused")


def test_no_more_goes_back_than_was_captured(bank: httpx.Client) -> None:
    key, refund_key = captured(bank)
    assert refund(bank, refund_key, key, 4000).status_code == 201
    answer = refund(bank, f"{refund_key}:2", key, 201)
    assert (answer.status_code, answer.json()["error"]) == (422, "more_than_captured")
    assert refund(bank, f"{refund_key}:3", key, 200).status_code == 201
    assert moved(bank, key) == [("capture", 4200), ("refund", 4000), ("refund", 200)]


def test_a_refund_that_fails_fails_for_good(bank: httpx.Client) -> None:
    key, refund_key = captured(bank, "tok_slow_1.refund_fails")
    for _ in range(2):
        answer = refund(bank, refund_key, key, 4200)
        assert (answer.status_code, answer.json()["status"]) == (402, "failed")
        assert answer.json()["reason"] == "refund_refused"
    assert bank.get(f"/refunds/{refund_key}").json()["status"] == "failed"
    assert moved(bank, key) == [("capture", 4200)]


@pytest.mark.parametrize(
    ("token", "answers"),
    [
        ("tok_ok.refund_flaky_2", [503, 503, 201]),
        ("tok_ok.refund_flaky_2.refund_fails", [503, 503, 402]),
    ],
)
def test_flaky_refuses_the_first_refunds(
    bank: httpx.Client, token: str, answers: list[int]
) -> None:
    key, refund_key = captured(bank, token)
    assert [refund(bank, refund_key, key, 4200).status_code for _ in answers] == answers


def test_only_a_capture_can_be_refunded(bank: httpx.Client) -> None:
    declined, unknown = new_key(), new_key()
    charge(bank, declined, "tok_declined")
    answer = refund(bank, new_key(), declined, 1)
    assert (answer.status_code, answer.json()["error"]) == (422, "not_captured")
    assert refund(bank, new_key(), unknown, 1).status_code == 404
    assert bank.get(f"/refunds/{unknown}").status_code == 404


@pytest.mark.parametrize("amount", [0, -5, 1.5, "10"])
def test_a_malformed_refund_is_422(bank: httpx.Client, amount: object) -> None:
    key, refund_key = captured(bank)
    assert refund(bank, refund_key, key, amount).status_code == 422  # type: ignore[arg-type]
