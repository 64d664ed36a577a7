"""A second projection: the words of every order, for full-text search."""

from alembic import op

revision = "0003"
down_revision = "0002"

_SEARCH = """
CREATE TABLE order_search (
    order_id  uuid PRIMARY KEY,
    tenant_id text NOT NULL,
    words     text NOT NULL,
    document  tsvector NOT NULL GENERATED ALWAYS AS
        (to_tsvector('simple'::regconfig, words)) STORED
);
CREATE INDEX order_search_document ON order_search USING gin (document);

-- An empty model needs no rebuild to be of the version that has it.
UPDATE projection_state SET version = 2 WHERE NOT EXISTS (SELECT FROM order_timeline);
UPDATE generations SET version = 2
    WHERE status = 'current' AND NOT EXISTS (SELECT FROM order_timeline);
"""


def upgrade() -> None:
    """Creates its table; a rebuild fills it with the orders that there are."""
    op.execute(_SEARCH)
