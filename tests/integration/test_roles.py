"""Each account opens its own database and nothing else; the relay's reads outboxes alone."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from infra.names import EMITTERS, SERVICES, database, role
from tests.live_stack import Ground

DATABASES = (*map(database, SERVICES), "registry_db", "postgres", "template1")


def _open(ground: Ground, account: str, name: str, **options: str) -> psycopg.Connection:
    url = ground.settings.database_url(account, name).replace("+psycopg", "")
    return psycopg.connect(make_conninfo(url, connect_timeout=5, **options), autocommit=True)


def _others(account: str) -> Iterator[str]:
    own = account.removesuffix("_svc") + "_db"
    return (name for name in DATABASES if name != own)


@pytest.mark.parametrize("account", [*map(role, SERVICES), "registry_svc"])
def test_a_service_opens_its_own_database_only(ground: Ground, account: str) -> None:
    with _open(ground, account, account.removesuffix("_svc") + "_db") as own:
        assert own.execute("SELECT current_user").fetchone() == (account,)
    for name in _others(account):
        with pytest.raises(psycopg.OperationalError, match=r"no pg_hba\.conf entry"):
            _open(ground, account, name)


def test_a_wrong_password_is_refused(ground: Ground) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        _open(ground, "order_svc", "order_db", password="wrong")


@pytest.mark.parametrize("service", EMITTERS)
def test_the_relay_reads_outboxes_alone(ground: Ground, service: str) -> None:
    with _open(ground, "debezium", database(service)) as conn:
        conn.execute("SELECT message_id FROM outbox LIMIT 1")
        for table in _tables(ground, service) - {"outbox"}:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(f'SELECT 1 FROM "{table}" LIMIT 1')
        for change in ("DELETE FROM outbox", "UPDATE outbox SET topic = topic"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(change)


@pytest.mark.parametrize("replication", ["true", "1", "on"])
def test_the_relay_cannot_copy_the_cluster(ground: Ground, replication: str) -> None:
    with pytest.raises(psycopg.OperationalError, match=r"no pg_hba\.conf entry for replication"):
        _open(ground, "debezium", "order_db", replication=replication)


@pytest.mark.parametrize("name", ["projector_db", "registry_db", "postgres"])
def test_the_relay_opens_no_other_database(ground: Ground, name: str) -> None:
    for options in ({}, {"replication": "database"}):
        with pytest.raises(psycopg.OperationalError, match=r"no pg_hba\.conf entry"):
            _open(ground, "debezium", name, **options)


@pytest.mark.parametrize("service", SERVICES)
def test_the_auditor_reads_all_and_writes_nothing(ground: Ground, service: str) -> None:
    with _open(ground, "auditor", database(service)) as conn:
        for table in _tables(ground, service):
            conn.execute(f'SELECT 1 FROM "{table}" LIMIT 1')
        for change in ("DELETE FROM inbox", "DELETE FROM dead_letters", "CREATE TABLE mine ()"):
            with pytest.raises(
                (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedTable)
            ):
                conn.execute(change)


def test_no_service_may_change_another_s_rights(ground: Ground) -> None:
    with _open(ground, "order_svc", "order_db") as conn:
        for attempt in ("CREATE ROLE friend", "CREATE DATABASE friend", "SET ROLE payment_svc"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(attempt)


def _tables(ground: Ground, service: str) -> set[str]:
    query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    with ground.admin(database(service)) as admin:
        return {name for (name,) in admin.execute(query)}
