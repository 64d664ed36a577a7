"""Reports, their pages, and what their clients are told."""

from alembic import op

from services.eventkit.ddl import clients_v1

revision = "0003"
down_revision = "0002"

_REPORTS = """
CREATE TABLE reports (
    key          text PRIMARY KEY CHECK (key LIKE 'rep\\_%'),
    tenant_id    text NOT NULL,
    since        timestamptz NOT NULL,
    until        timestamptz NOT NULL CHECK (until > since),
    requested_at timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    status       text NOT NULL CHECK
        (status IN ('pending', 'running', 'succeeded', 'failed', 'cancelled')),
    reason       text,
    total        bigint CHECK (total >= 0),
    rows         bigint NOT NULL CHECK (rows >= 0),
    size         bigint NOT NULL CHECK (size >= 0),
    pages        integer NOT NULL CHECK (pages >= 0),
    ended_at     timestamptz,
    expires_at   timestamptz,
    version      bigint NOT NULL,
    CHECK ((status IN ('pending', 'running')) = (ended_at IS NULL)),
    CHECK ((status = 'succeeded') = (expires_at IS NOT NULL))
);
CREATE INDEX reports_of ON reports (tenant_id, requested_at);
CREATE INDEX reports_ended ON reports (ended_at);

CREATE TABLE report_pages (
    report_id text NOT NULL REFERENCES reports ON DELETE CASCADE,
    number    integer NOT NULL,
    content   bytea NOT NULL,
    PRIMARY KEY (report_id, number)
);

CREATE INDEX order_figures_placed ON order_figures (tenant_id, placed_at, key);
"""


def upgrade() -> None:
    """Creates everything."""
    op.execute(_REPORTS)
    op.execute(clients_v1("report"))
