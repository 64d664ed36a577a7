"""Charges by the fake payment provider: one per key, whatever is asked and how often."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.integration.fakes.bank import charge, moved, new_key, requests_of, status


def test_a_charge_is_captured_and_in_the_ledger(bank: httpx.Client) -> None:
    key = new_key()
    answer = charge(bank, key)
    assert answer.status_code == 201
    body = answer.json()
    assert body.pop("charge_id").startswith("ch_")
    assert body == {
        "charge_key": key,
        "status": "captured",
        "amount": 4200,
        "currency": "EUR",
        "reference": key,
        "reason": None,
    }
    assert moved(bank, key) == [("capture", 4200)]


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("tok_declined", "card_declined"),
        ("tok_nobody_knows", "unknown_token"),
        ("tok_ok.tok_declined", "card_declined"),
        ("tok_slow_20.tok_declined", "card_declined"),
    ],
)
def test_a_declined_charge_is_402_and_moves_nothing(
    bank: httpx.Client, token: str, reason: str
) -> None:
    key = new_key()
    answer = charge(bank, key, token)
    assert (answer.status_code, answer.json()["status"]) == (402, "declined")
    assert answer.json()["reason"] == reason
    assert charge(bank, key, token).json() == answer.json()
    assert moved(bank, key) == []


def test_a_repeat_gets_the_first_answer(bank: httpx.Client) -> None:
    key = new_key()
    first = charge(bank, key)
    again = charge(bank, key)
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert moved(bank, key) == [("capture", 4200)]
    assert requests_of(bank, key) == [("POST", "/charges", 201)] * 2


def test_one_key_with_another_content_is_422(bank: httpx.Client) -> None:
    key = new_key()
    charge(bank, key)
    answer = charge(bank, key, amount=1)
    assert (answer.status_code, answer.json()["error"]) == (422, "key_reused")
    assert moved(bank, key) == [("capture", 4200)]


def test_twins_at_the_same_time_are_one_charge(bank: httpx.Client) -> None:
    key = new_key()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: charge(bank, key, "tok_slow_200"), range(8)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.text for answer in answers}) == 1
    assert answers[0].json()["status"] == "captured"
    assert moved(bank, key) == [("capture", 4200)]


def test_flaky_refuses_the_first_requests_and_charges_once(bank: httpx.Client) -> None:
    key = new_key()
    assert [charge(bank, key, "tok_flaky_2").status_code for _ in range(4)] == [503, 503, 201, 201]
    assert moved(bank, key) == [("capture", 4200)]


def test_flaky_leaves_nothing_to_look_up(bank: httpx.Client) -> None:
    key = new_key()
    charge(bank, key, "tok_flaky_1")
    assert bank.get(f"/charges/{key}").status_code == 404


def test_a_slow_charge_is_processing_first(bank: httpx.Client) -> None:
    key = new_key()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(charge, bank, key, "tok_slow_700")
        while status(bank, key) == "none":
            assert not answer.done()
        assert status(bank, key) == "processing"
        assert bank.post(f"/charges/{key}/void").status_code == 409
        assert answer.result().json()["status"] == "captured"
    assert moved(bank, key) == [("capture", 4200)]


def test_a_void_before_the_charge_keeps_it_from_landing(bank: httpx.Client) -> None:
    key = new_key()
    voided = bank.post(f"/charges/{key}/void")
    assert (voided.status_code, voided.json()["status"]) == (200, "voided")
    late = charge(bank, key)
    assert (late.status_code, late.json()["status"]) == (201, "voided")
    assert charge(bank, key).json() == late.json()
    assert charge(bank, key, amount=1).status_code == 422
    assert moved(bank, key) == []


@pytest.mark.parametrize(("token", "said"), [("tok_ok", "captured"), ("tok_declined", "declined")])
def test_a_void_after_the_charge_says_what_it_became(
    bank: httpx.Client, token: str, said: str
) -> None:
    key = new_key()
    charge(bank, key, token)
    assert bank.post(f"/charges/{key}/void").json()["status"] == said
    assert status(bank, key) == said


def test_every_request_is_logged_under_its_key(bank: httpx.Client) -> None:
    key = new_key()
    bank.get(f"/charges/{key}")
    charge(bank, key)
    bank.post(f"/charges/{key}/void")
    assert requests_of(bank, key) == [
        ("GET", f"/charges/{key}", 404),
        ("POST", "/charges", 201),
        ("POST", f"/charges/{key}/void", 200),
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        {"amount": 0},
        {"amount": -1},
        {"amount": 1.5},
        {"amount": "42"},
        {"amount": True},
        {"amount": 10**16},
        {"currency": "eur"},
        {"currency": "EURO"},
        {"token": ""},
        {"reference": ""},
        {"surprise": 1},
    ],
)
def test_a_malformed_charge_is_422_naming_the_field(
    bank: httpx.Client, wrong: dict[str, object]
) -> None:
    key = new_key()
    answer = charge(bank, key, **wrong)  # type: ignore[arg-type]
    assert answer.status_code == 422
    assert next(iter(wrong)) in answer.json()["detail"][0]["loc"]
    assert status(bank, key) == "none"


@pytest.mark.parametrize("key", ["", "x" * 201, "with space"])
def test_a_charge_needs_a_proper_key(bank: httpx.Client, key: str) -> None:
    assert charge(bank, key).status_code == 422


def test_a_charge_without_a_key_is_422(bank: httpx.Client) -> None:
    ask = {"amount": 1, "currency": "EUR", "token": "tok_ok", "reference": "x"}
    assert bank.post("/charges", json=ask).status_code == 422


def test_the_ledger_comes_in_pages(bank: httpx.Client) -> None:
    for _ in range(3):
        charge(bank, new_key())
    page = bank.get("/ledger", params={"limit": 2}).json()
    assert len(page["entries"]) == 2
    assert page["next_after"] == page["entries"][-1]["seq"]
    rest = bank.get("/ledger", params={"after": page["next_after"]}).json()
    assert rest["entries"][0]["seq"] > page["next_after"]
    assert rest["next_after"] is None
    assert bank.get("/ledger", params={"limit": 0}).status_code == 422
