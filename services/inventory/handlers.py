"""What inventory does with each event; the table at the bottom is the only registration."""

from typing import Any

from services.eventkit.decision import Decision, Event, Facts, Handlers, On, handlers
from services.inventory import imports
from services.inventory.domain import Line, Placement, Reservation, release, reserve
from services.inventory.imports import JOB, Import


def on_order_placed(state: Reservation | None, event: Event, facts: Facts) -> Decision[Reservation]:
    """Hold the order's lines or reject it."""
    order = Placement(
        key=event.key,
        tenant_id=event.tenant_id,
        lines=tuple(Line(line["sku"], line["quantity"]) for line in event.data["lines"]),
        amount=event.data["total"],
        currency=event.data["currency"],
        payment_token=event.data["payment_token"],
    )
    return reserve(state, order, facts.related)


def on_order_cancelled(
    state: Reservation | None, event: Event, facts: Facts
) -> Decision[Reservation]:
    """Give the order's lines back, or remember that it must never hold any."""
    return release(state, event.key, event.tenant_id, facts.related)


def on_start_import(state: Import | None, command: Event, facts: Facts) -> Decision[Import]:
    """A file has arrived whole; ``data`` says what is in it."""
    new = Import(
        key=command.key,
        tenant_id=command.tenant_id,
        requested_at=facts.now,
        updated_at=facts.now,
        **command.data,
    )
    return imports.start(state, new)


def on_chunk_checked(state: Import | None, event: Event, facts: Facts) -> Decision[Import]:
    """A chunk was checked: apply its rows or stage them, and go on to the next."""
    return imports.take_in(state, event.data, facts.now)


def on_chunk_failed(state: Import | None, event: Event, facts: Facts) -> Decision[Import]:
    """A chunk cannot be read: the import is given up."""
    return imports.fail(state, event.data["reason"], facts.now)


def on_cancel_import(state: Import | None, command: Event, facts: Facts) -> Decision[Import]:
    """The client wants nothing more of the file applied."""
    return imports.cancel(state, facts.now)


_RESERVATIONS: tuple[On[Reservation], ...] = (
    On(
        "OrderPlaced",
        "order.events",
        on_order_placed,
        emits=("StockReserved", "StockRejected"),
    ),
    On(
        "OrderCancelled",
        "order.events",
        on_order_cancelled,
        emits=("StockReleased",),
        undoes="StockReserved",
    ),
)
_IMPORTS: tuple[On[Import], ...] = (
    On("StartImport", "api", on_start_import, jobs=(JOB,)),
    On("import.succeeded", "job", on_chunk_checked, jobs=(JOB,)),
    On("import.failed", "job", on_chunk_failed),
    On("CancelImport", "api", on_cancel_import, undoes="StartImport"),
)
_ALL: tuple[On[Any], ...] = (*_RESERVATIONS, *_IMPORTS)
HANDLERS: Handlers[Any] = handlers(*_ALL)
