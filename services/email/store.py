"""All SQL of email: contacts, and each order's messages, loaded and saved set by set."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection

from services.email.domain import Mailing, Message
from services.email.tables import contacts, mailings, messages
from services.eventkit import db
from services.eventkit.decision import Event


@dataclass(frozen=True, slots=True)
class Contact:
    """Where a customer can be reached: personal data that leaves this service only in a mail."""

    tenant_id: str
    customer_id: str
    name: str
    address: str


class EmailStore:
    """Loads and saves mailings."""

    def load(self, conn: Connection, keys: Sequence[str]) -> dict[str, Mailing]:
        """The mailings of these orders; one never seen is left out."""
        written: dict[str, list[Message]] = {key: [] for key in keys}
        for row in conn.execute(_of_keys(messages, keys).order_by(messages.c.key, messages.c.kind)):
            written[row.key].append(Message(row.kind, row.status, row.reason))
        return {
            row.key: Mailing(row.key, row.tenant_id, tuple(written[row.key]), row.version)
            for row in conn.execute(_of_keys(mailings, keys))
        }

    def related(
        self,
        conn: Connection,
        events: Sequence[Event],
        states: Mapping[str, Mailing],
    ) -> dict[str, Any]:
        """Nothing: a mailing stands alone."""
        return {}

    def save(
        self,
        conn: Connection,
        states: Mapping[str, Mailing],
        related: Mapping[str, Any],
    ) -> None:
        """Writes the changed mailings and their messages, one statement each."""
        changed = [states[key] for key in sorted(states)]
        db.upsert_rows(conn, mailings, [_columns(mailing) for mailing in changed])
        rows = [
            {"key": mailing.key, "tenant_id": mailing.tenant_id, **asdict(message)}
            for mailing in changed
            for message in mailing.messages
        ]
        db.upsert_rows(conn, messages, rows)


def put_contact(conn: Connection, contact: Contact) -> None:
    """Stores a customer's contact, in place of an earlier one."""
    db.upsert_rows(conn, contacts, [asdict(contact)])


def contact_of(conn: Connection, tenant_id: str, customer_id: str) -> Contact | None:
    """A customer's contact, or None."""
    query = sa.select(contacts).where(
        contacts.c.tenant_id == tenant_id, contacts.c.customer_id == customer_id
    )
    row = conn.execute(query).one_or_none()
    return None if row is None else Contact(**row._mapping)


def mailing_of(conn: Connection, tenant_id: str, order_id: str) -> Mailing | None:
    """An order's mailing, or None; another tenant's is None too."""
    found = EmailStore().load(conn, [order_id]).get(order_id)
    return found if found is not None and found.tenant_id == tenant_id else None


def _of_keys(table: sa.Table, keys: Sequence[str]) -> sa.Select[Any]:
    wanted = sa.bindparam("keys", list(keys), ARRAY(sa.Text))
    return sa.select(table).where(table.c.key == sa.any_(wanted))


def _columns(mailing: Mailing) -> dict[str, Any]:
    return {"key": mailing.key, "tenant_id": mailing.tenant_id, "version": mailing.version}
