"""``orderctl keys``: make, list, rotate and revoke API keys."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from fcntl import LOCK_EX, flock
from pathlib import Path
from re import fullmatch
from typing import Annotated, Final

import typer
from pydantic import ValidationError
from rich.table import Table

from services.eventkit import keyfile
from services.eventkit.keyfile import TENANT, Allowance, ApiKey, Keys
from services.orderctl.console import cells, note, out, print_json
from services.orderctl.errors import CliError
from services.orderctl.options import AsJson
from services.orderctl.settings import keys_file

app = typer.Typer(name="keys", help="API keys: make, list, rotate, revoke.", no_args_is_help=True)

LONGEST_GRACE: Final = 30 * 86_400.0

Tenant = Annotated[str, typer.Argument(help="The tenant: lower case, digits, - and _.")]


@app.command()
def create(
    tenant: Tenant,
    orders_per_second: Annotated[
        int | None, typer.Option(min=1, help="How many orders the tenant may place in a second.")
    ] = None,
    open_orders: Annotated[
        int | None, typer.Option(min=0, help="How many of its orders may be open at once.")
    ] = None,
    operator: Annotated[
        bool, typer.Option("--operator", help="It opens the operators' routes too.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Make a key of a tenant. It is shown once and kept nowhere; services know it in a second.

    Examples:

      orderctl keys create acme --orders-per-second 20 --open-orders 500

      orderctl keys create anna --operator
    """
    if not fullmatch(TENANT, tenant):
        raise CliError(f"{tenant!r} is no name for a tenant", "lower case, digits, - and _", 2)
    with _changing() as keys:
        given = Allowance(orders_per_second=orders_per_second, open_orders=open_orders)
        said = given.model_dump(exclude_none=True)
        if said:
            before = keys.tenants.get(tenant, Allowance())
            keys.tenants[tenant] = before.model_copy(update=said)
        key_id, key = keys.add(tenant, keyfile.now(), operator=operator)
    _show_key(tenant, key_id, key, json)


@app.command("list")
def list_keys(json: AsJson = False) -> None:
    """List the keys and what their tenants may do.

    Examples:

      orderctl keys list
    """
    keys = _read(keys_file())
    found = [
        {
            "id": key_id,
            "tenant": key.tenant,
            "operator": key.operator,
            "created_at": key.created_at.isoformat(),
            "expires_at": key.expires_at.isoformat() if key.expires_at else None,
            **keys.tenants.get(key.tenant, Allowance()).model_dump(),
        }
        for key_id, key in keys.keys.items()
    ]
    if json:
        print_json(found)
        return
    if not found:
        note("no keys")
        return
    table = Table(*found[0], box=None, pad_edge=False)
    for row in found:
        table.add_row(*cells(*row.values()))
    out.print(table)


@app.command()
def rotate(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The id of the key to replace.")],
    grace: Annotated[
        float,
        typer.Option(min=0, max=LONGEST_GRACE, help="Seconds for which the old key still works."),
    ] = 3600.0,
    json: AsJson = False,
) -> None:
    """Make a new key in place of another, which works on for a while.

    A key that expires sooner than that does so. One that has expired cannot be replaced.

    Examples:

      orderctl keys rotate 0b54b3a46d0e --grace 600
    """
    if math.isnan(grace):  # it is neither below the least nor above the most
        raise CliError("--grace is not a number", "e.g. --grace 3600", 2)
    with _changing() as keys:
        old, now = _known(keys, key_id), datetime.now(UTC)
        if old.expires_at is not None and old.expires_at <= now:
            text = f"key {key_id} expired at {old.expires_at:%Y-%m-%d %H:%M:%S} UTC"
            raise CliError(text, f"orderctl keys create {old.tenant} makes another")
        ends = now + timedelta(seconds=grace)
        old.expires_at = min(ends, old.expires_at or ends)
        new_id, key = keys.add(old.tenant, keyfile.now(), operator=old.operator)
    _show_key(old.tenant, new_id, key, json)


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The id of the key.")],
) -> None:
    """Take a key away; services refuse it within a second.

    Examples:

      orderctl keys revoke 0b54b3a46d0e
    """
    with _changing() as keys:
        tenant = _known(keys, key_id).tenant
        del keys.keys[key_id]
        if all(key.tenant != tenant for key in keys.keys.values()):
            keys.tenants.pop(tenant, None)
    out.print(f"[green]revoked[/] {key_id} of {tenant}")


@contextmanager
def _changing() -> Iterator[Keys]:
    """The keys, written back at the end; one command at a time."""
    path = keys_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        keys = _read(path)
        yield keys
        keyfile.write(path, keys)


def _read(path: Path) -> Keys:
    try:
        return keyfile.read(path)
    except (OSError, ValidationError) as error:
        raise CliError(f"{path} cannot be read as keys: {error}") from error


def _known(keys: Keys, key_id: str) -> ApiKey:
    if key_id not in keys.keys:
        raise CliError(f"there is no key {key_id}", "orderctl keys list")
    return keys.keys[key_id]


def _show_key(tenant: str, key_id: str, key: str, json: bool) -> None:
    if json:
        print_json({"tenant": tenant, "id": key_id, "key": key})
        return
    out.print(f"{key_id} of [bold]{tenant}[/]; the key is shown this once:")
    out.print(key, soft_wrap=True)
