"""The Alembic environment of every service: one transaction, serialized between two starters."""

import sqlalchemy as sa
from alembic import context

_LOCK = 7_201_115  # any number, as long as every migrator takes the same one


def _run() -> None:
    engine = sa.create_engine(context.config.attributes["database_url"], poolclass=sa.NullPool)
    with engine.connect() as connection:
        context.configure(connection=connection)
        with context.begin_transaction():
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            context.run_migrations()


_run()
