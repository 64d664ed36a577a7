"""The world outside: a payment provider and a mail server, and how a request to them can go."""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, TypeVar

from services.eventkit.jobs import Postpone, Refused, RetryLater

OK, DECLINED, UNREADABLE, REFUND_FAILS = "tok_ok", "tok_declined", "tok_unreadable", "tok_no_refund"
TOKENS = (OK, REFUND_FAILS, DECLINED, UNREADABLE, OK, REFUND_FAILS)

Answer = Mapping[str, Any]
T = TypeVar("T")


class Fault(Enum):
    """How a request goes; `SLOW` is for charges, `REFUSED` for mails."""

    NONE = "is answered"
    AWAY = "finds nobody there"
    LOST_REQUEST = "is lost on its way"
    LOST_ANSWER = "is done, and the answer is lost"
    SLOW = "is being processed"
    REFUSED = "is refused for good"


class Line:
    """The line to one remote: the next requests over it meet ``faults``, those after them none.

    ``met`` is what the last request met.
    """

    def __init__(self) -> None:
        self.faults: deque[Fault] = deque()
        self.met = Fault.NONE

    def send(self, effect: Callable[[Fault], T]) -> T:
        """Makes a request; raises as a client does, with the effect made or not."""
        self.met = self.faults.popleft() if self.faults else Fault.NONE
        if self.met is Fault.AWAY:
            raise Postpone(self.met.value)
        if self.met is Fault.LOST_REQUEST:
            raise RetryLater(self.met.value)
        answer = effect(self.met)
        if self.met is Fault.LOST_ANSWER:
            raise RetryLater(self.met.value)
        return answer


@dataclass(frozen=True, slots=True)
class Charge:
    """A charge as the provider keeps it; a voided one may never have been asked for."""

    status: str
    order: str = ""
    amount: int = 0
    token: str = ""

    def answer(self) -> Answer:
        reason = "insufficient_funds" if self.status == "declined" else None
        return {"status": self.status, "reason": reason}


@dataclass(frozen=True, slots=True)
class Entry:
    """Money that moved: a ``capture`` or a ``refund`` of an order, in minor units."""

    kind: str
    order: str
    amount: int


@dataclass
class Provider:
    """Knows each key once. Until it is ``mended`` it cannot read or refund some cards."""

    line: Line = field(default_factory=Line)
    charges: dict[str, Charge] = field(default_factory=dict)
    refunds: dict[str, Answer] = field(default_factory=dict)
    ledger: list[Entry] = field(default_factory=list)
    mended: bool = False

    def charge(self, key: str, amount: int, currency: str, token: str, reference: str) -> Answer:
        """Makes the charge of this key, or finds it made."""
        asked = Charge("processing", reference, amount, token)
        return self.line.send(lambda fault: self._charge(key, asked, fault))

    def find_charge(self, key: str) -> Answer | None:
        """The charge of this key; one that was being processed has been settled meanwhile."""
        return self.line.send(lambda _: self._find_charge(key))

    def void(self, key: str) -> Answer:
        """Stops the charge of this key, even one still to come."""
        return self.line.send(lambda _: self._void(key))

    def refund(self, key: str, charge_key: str, amount: int) -> Answer:
        """Pays a capture back, or finds it paid back."""
        return self.line.send(lambda _: self._refund(key, charge_key, amount))

    def find_refund(self, key: str) -> Answer | None:
        """The refund of this key, or None."""
        return self.line.send(lambda _: self.refunds.get(key))

    def mend(self) -> None:
        """From now on every card can be read and refunded; a key is answered as it ever was."""
        self.mended = True

    def _find_charge(self, key: str) -> Answer | None:
        found = self.charges.get(key)
        if found is not None and found.status == "processing":
            found = self._settle(key, found)
        return found.answer() if found else None

    def _charge(self, key: str, asked: Charge, fault: Fault) -> Answer:
        found = self.charges.get(key)
        if found is None:
            if asked.token == UNREADABLE and not self.mended:
                raise Refused("provider_answered_400")
            found = self.charges[key] = asked
        if found.status == "processing" and fault is not Fault.SLOW:
            found = self._settle(key, found)
        return found.answer()

    def _settle(self, key: str, charge: Charge) -> Charge:
        status = "declined" if charge.token == DECLINED else "captured"
        settled = self.charges[key] = replace(charge, status=status)
        if status == "captured":
            self.ledger.append(Entry("capture", charge.order, charge.amount))
        return settled

    def _void(self, key: str) -> Answer:
        found = self.charges.setdefault(key, Charge("voided"))
        if found.status == "processing":
            self._settle(key, found)
            raise RetryLater("the charge is being processed")
        return found.answer()

    def _refund(self, key: str, charge_key: str, amount: int) -> Answer:
        if key in self.refunds:
            return self.refunds[key]
        charge = self.charges.get(charge_key)
        if charge is None or charge.status != "captured":
            raise Refused("provider_answered_422")
        if amount > charge.amount - self._paid_back(charge.order):
            raise Refused("provider_answered_422")
        fails = charge.token == REFUND_FAILS and not self.mended
        self.refunds[key] = {"status": "failed" if fails else "refunded", "reason": None}
        if not fails:
            self.ledger.append(Entry("refund", charge.order, amount))
        return self.refunds[key]

    def _paid_back(self, order: str) -> int:
        return sum(one.amount for one in self.ledger if (one.kind, one.order) == ("refund", order))


@dataclass
class MailServer:
    """Counts the copies of each mail by its Message-ID."""

    line: Line = field(default_factory=Line)
    copies: Counter[str] = field(default_factory=Counter)

    def send(self, message_id: str) -> None:
        """Takes a mail."""
        self.line.send(lambda fault: self._take(message_id, fault))

    def _take(self, message_id: str, fault: Fault) -> Answer:
        if fault is Fault.REFUSED:
            raise Refused("smtp_550")
        self.copies[message_id] += 1
        return {}
