"""The technical tables, contacts, and one message per order and kind."""

from alembic import op

from services.eventkit.ddl import kit_v1

revision = "0001"
down_revision = None

CONTACTS = """
CREATE TABLE contacts (
    tenant_id   text NOT NULL,
    customer_id text NOT NULL CHECK (customer_id <> ''),
    -- A line break in either would let a name write headers of its own.
    name        text NOT NULL CHECK (name <> '' AND name !~ '[[:cntrl:]]'),
    address     text NOT NULL CHECK (address ~ '^[^[:cntrl:][:space:]@]+@[^[:cntrl:][:space:]@]+$'),
    PRIMARY KEY (tenant_id, customer_id)
);
"""

MESSAGES = """
CREATE TABLE mailings (
    key       text PRIMARY KEY,
    tenant_id text NOT NULL,
    version   bigint NOT NULL CHECK (version >= 0)
);

CREATE TABLE messages (
    key       text NOT NULL REFERENCES mailings,
    kind      text NOT NULL CHECK (kind IN ('confirmed', 'cancelled')),
    tenant_id text NOT NULL,
    status    text NOT NULL CHECK (status IN ('queued', 'sent', 'failed')),
    reason    text NOT NULL,
    PRIMARY KEY (key, kind),
    CHECK ((status = 'failed') = (reason <> ''))
);
CREATE INDEX messages_unsent ON messages (status) WHERE status <> 'sent';
"""


def upgrade() -> None:
    """Create everything."""
    op.execute(kit_v1(["email.events", "email.dlq"]))
    op.execute(CONTACTS)
    op.execute(MESSAGES)
