"""Imports of stock: files in chunks, staged rows, bad rows, and what their clients are told."""

from alembic import op

from services.eventkit.ddl import clients_v1

revision = "0002"
down_revision = "0001"

_IMPORTS = """
CREATE TABLE imports (
    key          text PRIMARY KEY CHECK (key LIKE 'imp\\_%'),
    tenant_id    text NOT NULL,
    mode         text NOT NULL CHECK (mode IN ('all', 'rows')),
    chunks       integer NOT NULL CHECK (chunks > 0),
    lines        bigint NOT NULL CHECK (lines > 0),
    size         bigint NOT NULL CHECK (size > 0),
    requested_at timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    status       text NOT NULL CHECK
        (status IN ('pending', 'running', 'succeeded', 'failed', 'cancelled')),
    reason       text,
    done         integer NOT NULL CHECK (done BETWEEN 0 AND chunks),
    valid        bigint NOT NULL CHECK (valid >= 0),
    invalid      bigint NOT NULL CHECK (invalid >= 0),
    applied      bigint NOT NULL CHECK (applied BETWEEN 0 AND valid),
    ended_at     timestamptz,
    version      bigint NOT NULL,
    CHECK ((status IN ('pending', 'running')) = (ended_at IS NULL)),
    CHECK (status <> 'succeeded' OR done = chunks),
    CHECK (mode <> 'all' OR applied = 0 OR status = 'succeeded')
);
CREATE INDEX imports_open ON imports (tenant_id) WHERE ended_at IS NULL;
CREATE INDEX imports_ended ON imports (ended_at);

-- A file is stored while it arrives, before there is an import.
CREATE TABLE import_chunks (
    import_id  text NOT NULL,
    number     integer NOT NULL,
    first_line bigint NOT NULL,
    content    bytea NOT NULL,
    stored_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (import_id, number)
);
CREATE INDEX import_chunks_stored ON import_chunks (stored_at);

CREATE TABLE import_rows (
    import_id text NOT NULL REFERENCES imports ON DELETE CASCADE,
    chunk     integer NOT NULL,
    sku       text NOT NULL,
    quantity  bigint NOT NULL CHECK (quantity > 0),
    PRIMARY KEY (import_id, chunk, sku)
);

CREATE TABLE import_errors (
    import_id text NOT NULL REFERENCES imports ON DELETE CASCADE,
    line      bigint NOT NULL,
    row       text NOT NULL,
    error     text NOT NULL,
    PRIMARY KEY (import_id, line)
);
"""


def upgrade() -> None:
    """Creates everything."""
    op.execute(_IMPORTS)
    op.execute(clients_v1("import"))
