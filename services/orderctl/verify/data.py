"""What the checks look at: plain rows of every database, topic and outside ledger.

Money is in minor units of its currency; an order id is the lower-case UUID that is also the key.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Order:
    """An order as the order service has it; ``waiting_for`` names the step of an open one."""

    order_id: str
    status: str
    reason: str | None
    currency: str
    total: int
    waiting_for: str | None
    pay_by: datetime


Goods = tuple[str, str]
"""A tenant and a SKU of it: stock is per tenant."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """What inventory holds, or held, for an order."""

    status: str
    lines: Mapping[Goods, int]


@dataclass(frozen=True, slots=True)
class Stock:
    """The pieces of one SKU of a tenant."""

    imported: int
    available: int
    held: int


@dataclass(frozen=True, slots=True)
class Payment:
    """An order's payment as the payment service has it."""

    status: str
    currency: str
    captured: int
    refunded: int


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """Money that the payment provider moved: a capture or a refund, for an order."""

    kind: str
    order_id: str
    currency: str
    amount: int


@dataclass(frozen=True, slots=True)
class Message:
    """A mail as the email service has it, by order and kind."""

    order_id: str
    kind: str
    status: str


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail that arrived at the mail server; a repeat has the same message id."""

    order_id: str
    message_id: str


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """An event as its service wrote it."""

    service: str
    message_id: str
    topic: str
    key: str
    event_type: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A record as it is on its topic; without an envelope it has no message id."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    message_id: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Copy:
    """An order as a reader of the events has it: the read model, analytics."""

    status: str | None
    reason: str | None
    currency: str | None
    total: int | None
    captured: int
    refunded: int


@dataclass(frozen=True, slots=True)
class Letter:
    """An event that a service could not take in, and why; or one parked behind it."""

    service: str
    status: str
    event_type: str
    key: str
    reason: str


@dataclass(frozen=True)
class Snapshot:
    """Everything, as it was at ``now`` (UTC); rows older than ``kept_since`` may be pruned."""

    now: datetime
    kept_since: datetime
    orders: Mapping[str, Order] = field(default_factory=dict)
    reservations: Mapping[str, Reservation] = field(default_factory=dict)
    stock: Mapping[Goods, Stock] = field(default_factory=dict)
    payments: Mapping[str, Payment] = field(default_factory=dict)
    ledger: Sequence[LedgerEntry] = ()
    messages: Sequence[Message] = ()
    mails: Sequence[Mail] = ()
    outbox: Sequence[OutboxRow] = ()
    records: Sequence[TopicRecord] = ()
    partitions: Mapping[str, int] = field(default_factory=dict)
    views: Mapping[str, Copy] = field(default_factory=dict)
    figures: Mapping[str, Copy] = field(default_factory=dict)
    letters: Sequence[Letter] = ()
