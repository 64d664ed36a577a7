"""Every event of every service, read into its order's row, and reports about these rows.

The table registers them all.
"""

from datetime import timedelta
from typing import Any

from services.analytics import reports
from services.analytics.domain import READERS, OrderFigures, read
from services.analytics.reports import JOB, Report
from services.eventkit.decision import Decision, Event, Facts, Handlers, On, handlers


def on_event(state: OrderFigures | None, event: Event, _facts: Facts) -> Decision[OrderFigures]:
    """Merge what the event tells into its order's row."""
    reading = READERS[event.type](event.data, event.time)
    return read(state, event.key, event.tenant_id, event.sequence, reading)


def on_request_report(report: Report | None, command: Event, facts: Facts) -> Decision[Report]:
    """A client wants a report; ``data`` was validated by the API."""
    new = Report(
        key=command.key,
        tenant_id=command.tenant_id,
        since=command.data["since"],
        until=command.data["until"],
        requested_at=facts.now,
        updated_at=facts.now,
    )
    return reports.request(report, new)


def on_page_read(report: Report | None, event: Event, facts: Facts) -> Decision[Report]:
    """A page of the report is there: take it in and plan the next, or say that it is ready."""
    return reports.write(report, event.data, facts.now, timedelta(seconds=event.data["keep"]))


def on_page_failed(report: Report | None, event: Event, facts: Facts) -> Decision[Report]:
    """A page cannot be read: the report is given up."""
    return reports.fail(report, event.data["reason"], facts.now)


def on_cancel_report(report: Report | None, command: Event, facts: Facts) -> Decision[Report]:
    """The client wants no report any more."""
    return reports.cancel(report, facts.now)


_FIGURES: tuple[On[OrderFigures], ...] = (
    On("OrderPlaced", "order.events", on_event),
    On("OrderConfirmed", "order.events", on_event),
    On("OrderCancelled", "order.events", on_event),
    On("OrderNeedsAttention", "order.events", on_event),
    On("StockReserved", "inventory.events", on_event),
    On("StockRejected", "inventory.events", on_event),
    On("StockReleased", "inventory.events", on_event),
    On("PaymentCaptured", "payment.events", on_event),
    On("PaymentDeclined", "payment.events", on_event),
    On("PaymentRefunded", "payment.events", on_event),
    On("RefundFailed", "payment.events", on_event),
    On("EmailSent", "email.events", on_event),
    On("EmailFailed", "email.events", on_event),
)
_REPORTS: tuple[On[Report], ...] = (
    On("RequestReport", "api", on_request_report, jobs=(JOB,)),
    On("report.succeeded", "job", on_page_read, emits=("ReportReady",), jobs=(JOB,)),
    On("report.failed", "job", on_page_failed),
    On("CancelReport", "api", on_cancel_report, undoes="RequestReport"),
)
_ALL: tuple[On[Any], ...] = (*_FIGURES, *_REPORTS)
HANDLERS: Handlers[Any] = handlers(*_ALL)
