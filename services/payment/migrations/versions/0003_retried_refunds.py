"""An operator's decision may be to try a refund again."""

from alembic import op

revision = "0003"
down_revision = "0002"

ACTIONS = """
ALTER TABLE decisions DROP CONSTRAINT decisions_action_check;
ALTER TABLE decisions ADD CONSTRAINT decisions_action_check
    CHECK (action IN ('redrive', 'discard', 'redrive_job', 'retry_refund'));
"""


def upgrade() -> None:
    """Allow it."""
    op.execute(ACTIONS)
