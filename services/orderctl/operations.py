"""What services have put aside, over their ``/operations`` API: letters and dead jobs alike."""

import getpass
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from services.orderctl.client import Http, Shop
from services.orderctl.errors import CliError
from services.orderctl.verify.databases import EMITTERS

LETTERS, JOBS = "/operations/dead-letters", "/operations/jobs"
LETTER, JOB = "letter", "job"
JOB_REASON = "job"
NOT_FOUND = 404
WELL = frozenset({"redriven", "discarded", "pending"})
"""What a letter or a job is after a decision that worked; a pending job is under way again."""


@dataclass(frozen=True, slots=True)
class Aside:
    """A letter or a dead job of one service. ``what`` is the event type or the kind of job.

    ``place`` is where a letter's record lies on its topic; a job has none.
    """

    service: str
    kind: str
    id: str
    key: str | None
    what: str
    status: str
    reason: str
    error: str
    attempts: int
    since: datetime
    place: str = ""

    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Decided:
    """What a decision came to for one letter or job."""

    service: str
    id: str
    key: str | None
    status: str
    outcome: str

    @property
    def well(self) -> bool:
        """False where it failed again, or still waits behind one that did."""
        return self.status in WELL

    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return {name: getattr(self, name) for name in self.__slots__}


def login_name() -> str:
    """Who decides, unless told otherwise; every decision is kept with a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


class Operations:
    """The operations API of every service that emits events, by name."""

    def __init__(self, shop: Shop, by: str = "", why: str = "") -> None:
        self._services: Mapping[str, Http] = {
            "order": shop.orders,
            "inventory": shop.inventory,
            "payment": shop.payment,
            "email": shop.email,
            "analytics": shop.analytics,
        }
        self._decision = {"by": by or login_name(), "why": why}

    def service(self, name: str) -> Http:
        """One service; `CliError` naming those there are."""
        if name not in self._services:
            raise CliError(
                f"no service {name} has an operations API", f"one of: {', '.join(EMITTERS)}", 2
            )
        return self._services[name]

    def aside(
        self,
        services: Iterable[str] = EMITTERS,
        key: str | None = None,
        reason: str | None = None,
    ) -> Iterator[Aside]:
        """Open letters in the order in which they came, then dead jobs, service by service."""
        for name in services:
            params = {"key": key, "reason": reason, "limit": 10_000}
            given = {field: value for field, value in params.items() if value is not None}
            found = self.service(name).call("GET", LETTERS, params=given)
            yield from (_letter(name, item) for item in found["letters"])
            if reason in (None, JOB_REASON):
                yield from (job_aside(name, job) for job in self.jobs(name, ("dead",), key))

    def jobs(
        self, service: str, statuses: Sequence[str], key: str | None = None
    ) -> list[dict[str, Any]]:
        """Jobs of a service with these statuses, as it shows them."""
        params: list[tuple[str, str | int]] = [("status", status) for status in statuses]
        params += [("limit", 1000)] + ([("key", key)] if key else [])
        found: list[dict[str, Any]] = self.service(service).call("GET", JOBS, params=params)
        return found

    def whole_letter(self, service: str, message_id: str) -> dict[str, Any] | None:
        """A letter with its record; None where this service has no such letter."""
        found: dict[str, Any] | None = self.service(service).find(f"{LETTERS}/{message_id}")
        return found

    def redrive_key(self, service: str, key: str) -> list[Decided]:
        """Runs all letters of a key again."""
        return self._redrive(service, {"key": key})

    def redrive_letter(self, service: str, message_id: str) -> list[Decided]:
        """Runs a letter again, with the others of its key."""
        return self._redrive(service, {"message_id": message_id})

    def redrive_everything(self, service: str) -> list[Decided]:
        """Runs all letters of a service again that are not quarantined."""
        return self._redrive(service, {"everything": True})

    def redrive_job(self, service: str, job_id: str) -> Decided:
        """Starts a dead or failed job over."""
        job = self.service(service).call("POST", f"{JOBS}/{job_id}/redrive", json=self._decision)
        return _started(service, job)

    def redrive_job_of(self, services: Iterable[str], job_id: str) -> Decided | None:
        """Starts a job over wherever it is; None where none of these has it dead or failed.

        Raises `CliError` where it was not found, and a service could not be asked.
        """
        away: CliError | None = None
        for name in services:
            try:
                http = self.service(name)
                answer = http.send("POST", f"{JOBS}/{job_id}/redrive", json=self._decision)
            except CliError as error:
                away = error
                continue
            if answer.status_code != NOT_FOUND:
                job = http.read(answer)
                return _started(name, job)
        if away is not None:
            raise away
        return None

    def refund(self, key: str) -> str:
        """Asks for a failed refund again, of whatever tenant; the state of the payment then."""
        path = f"/operations/payments/{key}/refund"
        return str(self.service("payment").call("POST", path, json=self._decision)["status"])

    def discard(self, service: str, message_id: str) -> list[Decided]:
        """Gives a letter up for good, and runs what was parked behind it."""
        path = f"{LETTERS}/{message_id}/discard"
        return _decided(service, self.service(service).call("POST", path, json=self._decision))

    def _redrive(self, service: str, wanted: dict[str, Any]) -> list[Decided]:
        body = wanted | self._decision
        answer = self.service(service).call("POST", f"{LETTERS}/redrive", json=body)
        return _decided(service, answer)


def _started(service: str, job: Mapping[str, Any]) -> Decided:
    return Decided(service, job["job_id"], job["key"], job["status"], "starts over")


def _decided(service: str, answer: Iterable[Mapping[str, Any]]) -> list[Decided]:
    return [
        Decided(service, item["message_id"], item["key"], item["status"], item["outcome"])
        for item in answer
    ]


def _letter(service: str, item: Mapping[str, Any]) -> Aside:
    return Aside(
        service=service,
        kind=LETTER,
        id=item["message_id"],
        key=item["key"],
        what=item["event_type"] or "(no type)",
        status=item["status"],
        reason=item["reason"],
        error=item["last_error"],
        attempts=item["attempts"],
        since=datetime.fromisoformat(item["failed_at"]),
        place=f"{item['topic']}/{item['partition']}@{item['offset']}",
    )


def job_aside(service: str, job: Mapping[str, Any]) -> Aside:
    """A job as something put aside."""
    return Aside(
        service=service,
        kind=JOB,
        id=job["job_id"],
        key=job["key"],
        what=job["kind"],
        status=job["status"],
        reason=JOB_REASON,
        error=job["last_error"] or "",
        attempts=job["attempts"],
        since=datetime.fromisoformat(job["run_at"]),
    )
