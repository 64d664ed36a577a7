"""Which letters a redrive is about, and in which order they are run."""

from datetime import UTC, datetime
from typing import Any, cast

from services.orderctl.operations import JOB, LETTER, Aside, Decided, Operations
from services.orderctl.redrive import by_reason, run, wanted

NOW = datetime(2026, 1, 31, 9, 15, tzinfo=UTC)


def aside(id_: str, key: str | None = "a", **over: Any) -> Aside:
    fields: dict[str, Any] = {
        "service": "payment",
        "kind": LETTER,
        "what": "StockReserved",
        "status": "dead",
        "reason": "rule",
        "error": "",
        "attempts": 1,
        "since": NOW,
    }
    return Aside(id=id_, key=key, **fields | over)


class FakeOperations:
    """Remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    def redrive_key(self, service: str, key: str) -> list[Decided]:
        return self._note("key", service, key)

    def redrive_letter(self, service: str, message_id: str) -> list[Decided]:
        return self._note("letter", service, message_id)

    def redrive_everything(self, service: str) -> list[Decided]:
        return self._note("all", service)

    def redrive_job(self, service: str, job_id: str) -> Decided:
        return self._note("job", service, job_id)[0]

    def _note(self, *words: str) -> list[Decided]:
        self.asked.append(words)
        return [Decided(words[1], words[-1], None, "redriven", "applied")]


def asked(items: list[Aside], *, everything: bool = False) -> list[tuple[str, ...]]:
    fake = FakeOperations()
    run(cast(Operations, fake), items, everything)
    return fake.asked


ITEMS = [
    aside("1"),
    aside("2", status="parked", reason="parked"),
    aside("3", "b", status="quarantined"),
    aside("4", "b", status="parked", reason="parked"),
    aside("5", None, reason="undecodable"),
    aside("6", "c", service="email", kind=JOB, reason="job"),
]


def test_all_leaves_out_what_is_quarantined_and_what_is_parked_behind_it() -> None:
    assert [item.id for item in wanted(ITEMS, None, None, True)] == ["1", "2", "5", "6"]


def test_one_letter_and_one_order() -> None:
    assert [item.id for item in wanted(ITEMS, None, "3", False)] == ["3"]
    assert [item.id for item in wanted(ITEMS, "b", None, False)] == ["3", "4"]


def test_the_most_frequent_reason_comes_first() -> None:
    assert next(iter(by_reason(ITEMS).items())) == ("rule", 2)


def test_letters_of_a_key_are_redriven_together_and_jobs_last() -> None:
    chosen = [ITEMS[0], ITEMS[1], ITEMS[4], ITEMS[5]]
    assert asked(chosen) == [
        ("key", "payment", "a"),
        ("letter", "payment", "5"),
        ("job", "email", "6"),
    ]
    assert asked(chosen, everything=True) == [("all", "payment"), ("job", "email", "6")]


def test_what_failed_again_or_still_waits_did_not_go_well() -> None:
    def well(status: str) -> bool:
        return Decided("payment", "1", "a", status, "").well

    assert [well(status) for status in ("redriven", "discarded", "pending")] == [True] * 3
    assert not any(well(status) for status in ("dead", "parked", "quarantined"))
