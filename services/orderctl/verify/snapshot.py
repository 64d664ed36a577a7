"""Loads everything the checks look at."""

from datetime import UTC, datetime, timedelta

from services.orderctl.client import Shop
from services.orderctl.settings import Settings
from services.orderctl.verify import databases, outside
from services.orderctl.verify.data import Letter, OutboxRow, Snapshot

OUTBOX_KEPT = timedelta(days=7)


def load_snapshot(settings: Settings, shop: Shop) -> Snapshot:
    """The whole system as it is now; meant to be taken while it is quiet."""
    now = datetime.now(UTC)
    # Topics first: an event that arrives in between has a row by the time rows are read.
    records = outside.records(settings.kafka_bootstrap)
    outbox: list[OutboxRow] = []
    letters: list[Letter] = []
    for service in (*databases.EMITTERS, "projector"):
        with databases.reading(settings, service) as conn:
            letters += databases.letters(conn, service)
            if service in databases.EMITTERS:
                outbox += databases.outbox(conn, service)
    with databases.reading(settings, "order") as conn:
        orders = databases.orders(conn)
    with databases.reading(settings, "inventory") as conn:
        reservations, stock = databases.reservations(conn), databases.stock(conn)
    with databases.reading(settings, "payment") as conn:
        payments = databases.payments(conn)
    with databases.reading(settings, "email") as conn:
        messages = databases.messages(conn)
    with databases.reading(settings, "projector") as conn:
        views = databases.views(conn)
    with databases.reading(settings, "analytics") as conn:
        figures = databases.figures(conn)
    return Snapshot(
        now=now,
        kept_since=now - OUTBOX_KEPT,
        orders=orders,
        reservations=reservations,
        stock=stock,
        payments=payments,
        ledger=outside.ledger(shop.provider),
        messages=messages,
        mails=outside.mails(shop.mail),
        outbox=outbox,
        records=records,
        partitions=outside.partitions(settings.kafka_bootstrap),
        views=views,
        figures=figures,
        letters=letters,
    )
