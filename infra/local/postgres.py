"""Makes the database cluster, its roles and its databases; a second run changes nothing."""

import os
import shutil
import subprocess
from pathlib import Path

import psycopg
from psycopg import sql

from infra.local.errors import StackError
from infra.local.layout import write_private
from infra.local.ports import HOST
from infra.local.render import template
from infra.local.stack import Stack
from infra.names import EMITTERS, SERVICES, database, role
from infra.wiring import REGISTRY, Wiring


def prepare(stack: Stack) -> None:
    """Make the cluster when there is none, and write its configuration."""
    home = stack.postgres
    if not (home.data / "PG_VERSION").exists():
        _initialise(stack)
    settings: dict[str, str | int] = {"host": HOST, "port": stack.ports["postgres"], "sockets": ""}
    _write_as_owner(
        stack, home.data / "postgresql.conf", template("postgres/postgresql.conf", settings)
    )
    _write_as_owner(stack, home.data / "pg_hba.conf", access_rules())


def access_rules(clients: str = f"{HOST}/32") -> str:
    """``pg_hba.conf``: one line a database, naming who may open it; ``clients`` says from where.

    No line says ``replication``, so that nobody can copy the whole cluster; Debezium's logical
    replication opens a database like everyone else.
    """
    rules = [("all", "postgres"), (REGISTRY[1], f"{REGISTRY[0]},auditor")]
    for service in SERVICES:
        relay = ",debezium" if service in EMITTERS else ""
        rules.append((database(service), f"{role(service)},auditor{relay}"))
    lines = [f"host {name:14} {users:36} {clients} scram-sha-256\n" for name, users in rules]
    return "".join(lines)


def _initialise(stack: Stack) -> None:
    # Made aside and moved when whole: an interrupted initdb leaves nothing that looks finished.
    home, draft = stack.postgres, stack.postgres.data.with_name("postgres.part")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True, mode=0o700)
    password_file = draft.with_name("password")
    write_private(password_file, stack.passwords["postgres"])
    if home.account:
        draft.parent.chmod(0o711)
        for path in (draft, password_file):
            os.chown(path, home.account.uid, home.account.gid)
    try:
        _run(stack, "initdb", "-D", draft, "-U", "postgres", "-A", "scram-sha-256",
             f"--pwfile={password_file}", "-E", "UTF8", "--locale=C.UTF-8",
             "--no-instructions")  # fmt: skip
    finally:
        password_file.unlink()
    draft.rename(home.data)


def _run(stack: Stack, program: str, *arguments: str | Path) -> None:
    account = stack.postgres.account
    done = subprocess.run(
        [stack.postgres.binary(program), *arguments],
        check=False,
        cwd="/",
        env={"LC_ALL": "C.UTF-8", "TZ": "UTC", "HOME": "/", "PATH": os.defpath},
        capture_output=True,
        text=True,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
    )
    if done.returncode:
        raise StackError(f"{program} failed: {done.stderr.strip()[-800:]}", "See its message.")


def _write_as_owner(stack: Stack, path: Path, text: str) -> None:
    write_private(path, text)
    if account := stack.postgres.account:
        os.chown(path, account.uid, account.gid)


def admin(stack: Wiring, name: str = "postgres") -> psycopg.Connection:
    """A superuser's connection in autocommit mode."""
    host, _, port = stack.address("postgres").rpartition(":")
    return psycopg.connect(
        host=host,
        port=port,
        user="postgres",
        password=stack.passwords["postgres"],
        dbname=name,
        autocommit=True,
        connect_timeout=5,
    )


def answers(stack: Wiring) -> bool:
    """Whether PostgreSQL takes connections."""
    try:
        with admin(stack) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


def ensure_databases(stack: Wiring) -> None:
    """Every role with its password, every database with its owner and nobody else let in."""
    with admin(stack) as connection:
        _ensure_role(connection, stack, "debezium", "REPLICATION NOINHERIT CONNECTION LIMIT 40")
        _ensure_role(connection, stack, "auditor", "NOREPLICATION")
        connection.execute("GRANT pg_read_all_data TO auditor")
        for name in ("postgres", "template1"):
            _close_to_public(connection, name)
        for owner, name in (REGISTRY, *((role(s), database(s)) for s in SERVICES)):
            _ensure_role(connection, stack, owner, "NOREPLICATION")
            _ensure_database(connection, name, owner)
        for service in EMITTERS:
            _let_in(connection, database(service), "debezium")


def _ensure_role(connection: psycopg.Connection, stack: Wiring, name: str, rights: str) -> None:
    known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone()
    statement = sql.SQL(
        "{verb} ROLE {name} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE {rights} PASSWORD {password}"
    )
    connection.execute(
        statement.format(
            verb=sql.SQL("ALTER" if known else "CREATE"),
            name=sql.Identifier(name),
            rights=sql.SQL(rights),
            password=sql.Literal(stack.passwords[name]),
        )
    )


def _ensure_database(connection: psycopg.Connection, name: str, owner: str) -> None:
    known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
    if not known:
        statement = sql.SQL("CREATE DATABASE {} OWNER {}")
        connection.execute(statement.format(sql.Identifier(name), sql.Identifier(owner)))
    _close_to_public(connection, name)
    _let_in(connection, name, "auditor")


def _close_to_public(connection: psycopg.Connection, name: str) -> None:
    statement = sql.SQL("REVOKE CONNECT, TEMPORARY ON DATABASE {} FROM PUBLIC")
    connection.execute(statement.format(sql.Identifier(name)))


def _let_in(connection: psycopg.Connection, name: str, account: str) -> None:
    statement = sql.SQL("GRANT CONNECT ON DATABASE {} TO {}")
    connection.execute(statement.format(sql.Identifier(name), sql.Identifier(account)))
