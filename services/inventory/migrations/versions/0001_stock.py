"""The technical tables, stock, and reservations with their lines."""

from alembic import op

from services.eventkit.ddl import kit_v1

revision = "0001"
down_revision = None

STOCK = """
CREATE TABLE stock (
    tenant_id text NOT NULL,
    sku       text NOT NULL CHECK (sku <> ''),
    imported  bigint NOT NULL CHECK (imported >= 0),
    available bigint NOT NULL CHECK (available >= 0),
    held      bigint NOT NULL CHECK (held >= 0),
    PRIMARY KEY (tenant_id, sku),
    CHECK (imported = available + held)
);

CREATE TABLE reservations (
    key       text PRIMARY KEY,
    tenant_id text NOT NULL,
    status    text NOT NULL CHECK (status IN ('reserved', 'rejected', 'released', 'cancelled')),
    version   bigint NOT NULL CHECK (version >= 0),
    CHECK ((status = 'cancelled') = (version = 0))
);

CREATE TABLE reservation_lines (
    key       text NOT NULL REFERENCES reservations,
    sku       text NOT NULL,
    tenant_id text NOT NULL,
    -- 100 lines of 10,000 pieces, all of one SKU, are the most that one order asks for.
    quantity  bigint NOT NULL CHECK (quantity BETWEEN 1 AND 1000000),
    PRIMARY KEY (key, sku),
    FOREIGN KEY (tenant_id, sku) REFERENCES stock (tenant_id, sku)
);
"""


def upgrade() -> None:
    """Create everything."""
    op.execute(kit_v1(["inventory.events", "inventory.dlq"]))
    op.execute(STOCK)
