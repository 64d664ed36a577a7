"""More than one secret may be valid beside the newest."""

from alembic import op

revision = "0005"
down_revision = "0004"

_OLD_SECRETS = """
-- As [{"secret", "until"}], newest first.
ALTER TABLE webhooks ADD COLUMN old_secrets jsonb NOT NULL DEFAULT '[]';
UPDATE webhooks
SET old_secrets = jsonb_build_array(jsonb_build_object('secret', old_secret, 'until', old_until))
WHERE old_secret IS NOT NULL AND old_until IS NOT NULL;
ALTER TABLE webhooks DROP COLUMN old_secret, DROP COLUMN old_until;
"""


def upgrade() -> None:
    """Keeps the one there is."""
    op.execute(_OLD_SECRETS)
