"""A scratch database with the technical tables and the toy's own."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from services.eventkit.ddl import kit_v1
from tests.integration.eventkit.toy import DDL
from tests.live_stack import Ground

NAME = "eventkit_scratch"


@pytest.fixture(scope="session")
def scratch(ground: Ground) -> Iterator[sa.Engine]:
    """The database, made once."""
    with ground.admin() as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
        admin.execute(f"CREATE DATABASE {NAME}")
    engine = sa.create_engine(ground.settings.database_url("postgres", NAME))
    with engine.begin() as conn:
        conn.execute(sa.text(kit_v1(["analytics.events", "analytics.dlq"])))
        conn.execute(sa.text(DDL))
    yield engine
    engine.dispose()
    with ground.admin() as admin:
        admin.execute(f"DROP DATABASE {NAME} WITH (FORCE)")


@pytest.fixture
def database(scratch: sa.Engine) -> sa.Engine:
    """The database, empty. The outbox refuses TRUNCATE, as it should, so rows are deleted."""
    with scratch.begin() as conn:
        for table in ("keys", "inbox", "outbox", "jobs", "dead_letters", "decisions", "counters"):
            conn.exec_driver_sql(f"DELETE FROM {table}")
    return scratch
