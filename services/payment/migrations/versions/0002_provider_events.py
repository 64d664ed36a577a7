"""What the provider has told by itself: each once."""

from alembic import op

revision = "0002"
down_revision = "0001"

EVENTS = """
CREATE TABLE provider_events (
    webhook_id  text PRIMARY KEY,
    key         text NOT NULL,
    event_type  text NOT NULL,
    body        jsonb NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX provider_events_received ON provider_events (received_at);
"""


def upgrade() -> None:
    """Create the table."""
    op.execute(EVENTS)
