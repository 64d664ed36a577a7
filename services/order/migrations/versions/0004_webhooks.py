"""Whom a tenant has told about its orders, and what became of each message."""

from alembic import op

revision = "0004"
down_revision = "0003"

_WEBHOOKS = """
CREATE TABLE webhooks (
    webhook_id text PRIMARY KEY,
    tenant_id  text NOT NULL,
    url        text NOT NULL,
    events     jsonb NOT NULL,
    -- Signing needs the secret itself; the old one is valid beside it for a while.
    secret     text NOT NULL,
    old_secret text,
    old_until  timestamptz,
    status     text NOT NULL CHECK (status IN ('enabled', 'disabled')),
    reason     text,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX webhooks_tenant ON webhooks (tenant_id);

CREATE TABLE deliveries (
    delivery_id text PRIMARY KEY,
    webhook_id  text NOT NULL REFERENCES webhooks (webhook_id),
    tenant_id   text NOT NULL,
    key         text NOT NULL,
    event_type  text NOT NULL,
    payload     jsonb NOT NULL,
    status      text NOT NULL CHECK (status IN ('pending', 'delivered', 'dead', 'cancelled')),
    attempts    integer NOT NULL CHECK (attempts >= 0),
    answer      integer,
    error       text,
    next_at     timestamptz,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL
);
CREATE INDEX deliveries_of ON deliveries (webhook_id, created_at);
CREATE INDEX deliveries_done ON deliveries (created_at) WHERE status IN ('delivered', 'cancelled');
"""


def upgrade() -> None:
    """Creates the tables."""
    op.execute(_WEBHOOKS)
