"""All SQL of webhooks and deliveries."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection, RowMapping

from services.eventkit import db
from services.eventkit.envelope import format_time, parse_time
from services.order import tables
from services.order.webhooks import (
    DISABLED,
    ENABLED,
    Delivery,
    Disabled,
    OldSecret,
    Webhook,
    delivery_name,
    of_tenant,
)

_W, _D = tables.webhooks, tables.deliveries
_WEBHOOK = [field.name for field in fields(Webhook)]
_DELIVERY = [field.name for field in fields(Delivery)]


def related(
    conn: Connection, tenants: Collection[str], deliveries: Collection[str]
) -> dict[str, Any]:
    """The enabled webhooks of these tenants and these deliveries, by the names rules know."""
    found: dict[str, Any] = {}
    if tenants:
        query = sa.select(_W).where(_in(_W.c.tenant_id, tenants), _W.c.status != DISABLED)
        for row in conn.execute(query.order_by(_W.c.webhook_id)).mappings():
            name = of_tenant(row["tenant_id"])
            found[name] = (*found.get(name, ()), _webhook(row))
    if deliveries:
        query = sa.select(_D).where(_in(_D.c.delivery_id, deliveries))
        for row in conn.execute(query).mappings():
            found[delivery_name(row["delivery_id"])] = _delivery(row)
    return found


def save(conn: Connection, changed: Mapping[str, Any]) -> None:
    """Writes the deliveries that rules have made or changed, and ends webhooks."""
    new = [asdict(value) for value in changed.values() if isinstance(value, Delivery)]
    db.upsert_rows(conn, _D, new)
    for value in changed.values():
        if isinstance(value, Disabled):
            disable(conn, value.webhook_id, value.reason)


def webhook(
    conn: Connection, webhook_id: str, tenant_id: str | None = None, *, lock: bool = False
) -> Webhook | None:
    """One webhook; of this tenant, where one is given. ``lock`` it to change what was read."""
    query = sa.select(_W).where(_W.c.webhook_id == webhook_id)
    if tenant_id is not None:
        query = query.where(_W.c.tenant_id == tenant_id)
    if lock:
        query = query.with_for_update()
    row = conn.execute(query).mappings().one_or_none()
    return _webhook(row) if row else None


def webhooks(conn: Connection, tenant_id: str) -> list[Webhook]:
    """All webhooks of a tenant, oldest first."""
    query = sa.select(_W).where(_W.c.tenant_id == tenant_id)
    rows = conn.execute(query.order_by(_W.c.created_at, _W.c.webhook_id)).mappings()
    return [_webhook(row) for row in rows]


def enabled(conn: Connection, tenant_id: str) -> int:
    """How many webhooks of a tenant are enabled. Nobody else registers one until this commits."""
    one_by_one = sa.func.hashtextextended(of_tenant(tenant_id), 0)
    conn.execute(sa.select(sa.func.pg_advisory_xact_lock(one_by_one)))
    query = sa.select(sa.func.count()).where(_W.c.tenant_id == tenant_id, _W.c.status == ENABLED)
    return conn.execute(query).scalar_one()


def add(conn: Connection, new: Webhook) -> None:
    """Stores a new webhook."""
    values = {"events": list(new.events), "old_secrets": _stored(new.old_secrets)}
    db.insert_rows(conn, _W, [asdict(new) | values])


def set_secrets(conn: Connection, changed: Webhook) -> None:
    """Stores a webhook's secrets."""
    values = {"secret": changed.secret, "old_secrets": _stored(changed.old_secrets)}
    conn.execute(sa.update(_W).where(_W.c.webhook_id == changed.webhook_id).values(values))


def disable(conn: Connection, webhook_id: str, reason: str) -> None:
    """Nothing more is sent to a webhook."""
    values = {"status": DISABLED, "reason": reason}
    conn.execute(sa.update(_W).where(_W.c.webhook_id == webhook_id).values(values))


def delivery(conn: Connection, delivery_id: str, webhook_id: str | None = None) -> Delivery | None:
    """One delivery; of this webhook, where one is given."""
    query = sa.select(_D).where(_D.c.delivery_id == delivery_id)
    if webhook_id is not None:
        query = query.where(_D.c.webhook_id == webhook_id)
    row = conn.execute(query).mappings().one_or_none()
    return _delivery(row) if row else None


def deliveries(
    conn: Connection, webhook_id: str, status: str | None, limit: int
) -> Sequence[Delivery]:
    """The newest deliveries to a webhook, newest first."""
    query = sa.select(_D).where(_D.c.webhook_id == webhook_id)
    if status is not None:
        query = query.where(_D.c.status == status)
    query = query.order_by(_D.c.created_at.desc(), _D.c.delivery_id).limit(limit)
    return [_delivery(row) for row in conn.execute(query).mappings()]


def _in(column: sa.Column[Any], values: Collection[str]) -> sa.ColumnElement[bool]:
    return column == sa.any_(sa.bindparam(None, sorted(values), ARRAY(sa.Text)))


def _webhook(row: RowMapping) -> Webhook:
    values = {name: row[name] for name in _WEBHOOK}
    old = (OldSecret(one["secret"], parse_time(one["until"])) for one in row["old_secrets"])
    return Webhook(**{**values, "events": tuple(row["events"]), "old_secrets": tuple(old)})


def _stored(old_secrets: Sequence[OldSecret]) -> list[dict[str, str]]:
    return [{"secret": old.secret, "until": format_time(old.until)} for old in old_secrets]


def _delivery(row: RowMapping) -> Delivery:
    return Delivery(**{name: row[name] for name in _DELIVERY})


OLD = """
DELETE FROM deliveries WHERE delivery_id IN (
    SELECT delivery_id FROM deliveries
    WHERE status IN ('delivered', 'cancelled') AND created_at < :before
    ORDER BY created_at LIMIT :batch)"""
"""Deletes the oldest that are over; dead ones stay to be sent again."""
