"""Reports and imports on the running stack: right though their worker is killed in the middle."""

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from infra.names import database
from services.eventkit.envelope import format_time
from services.orderctl.client import Http
from tests.live_stack import LiveStack
from tests.saga.support.faults import Faults
from tests.saga.support.orderctl import orderctl, orderctl_json
from tests.saga.support.saga import Saga
from tests.saga.support.sse import follow
from tests.saga.support.wait import until

ROWS = 30_000
"""More than one chunk of a file."""
SKUS = 50
MOST_KILLS = 8
WAITING = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = CAST(%s AS regclass)"


def deliveries(sku: str, count: int = ROWS) -> bytes:
    """A file that brings a piece a row, of a few SKUs."""
    rows = [f"{sku}-{number % SKUS},1" for number in range(count)]
    return "\n".join(["sku,quantity", *rows, ""]).encode()


@contextmanager
def killed_while_it_writes(stack: LiveStack, service: str, table: str) -> Iterator[None]:
    """The service dies with what the block makes it write half written, in an open transaction."""

    def waits() -> Any:
        return looker.execute(WAITING, [table]).fetchone()

    with (
        stack.admin(database(service)) as looker,
        stack.admin(database(service)) as holder,
        holder.transaction(),
    ):
        holder.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE")
        yield
        until(waits, f"somebody to write to {table}", 60)
        stack.kill(service)
    stack.wait_ready(service)


def ended(http: Http, path: str) -> dict[str, Any]:
    """The work once it has ended."""

    def look() -> dict[str, Any] | None:
        found: dict[str, Any] | None = http.find(path)
        return found if found and found["ended_at"] else None

    return until(look, f"{path} to end", 120)


def pieces(saga: Saga, sku: str) -> dict[str, int]:
    """What is in stock of the SKUs of a file."""
    query = "SELECT sku, imported FROM stock WHERE sku LIKE :sku AND imported = available"
    rows = saga.db.rows("inventory", query, sku=f"{sku}-%")
    return {row["sku"]: row["imported"] for row in rows}


@pytest.mark.parametrize("mode", ["all", "rows"])
def test_an_import_whose_worker_is_killed_while_it_applies_adds_each_piece_once(
    saga: Saga, stack: LiveStack, faults: Faults, mode: str
) -> None:
    sku, inventory = f"LONG-{uuid4().hex[:8]}", saga.shop.inventory
    headers = {"Content-Type": "text/csv", "Idempotency-Key": sku}
    sent = {"params": {"mode": mode}, "content": deliveries(sku), "headers": headers}
    with killed_while_it_writes(stack, "inventory", "stock"):
        accepted = inventory.call("POST", "/stock/imports", **sent)
    done = ended(inventory, accepted["status_url"])
    assert (done["status"], done["applied"], done["lines"]) == ("succeeded", ROWS, ROWS)
    again = inventory.call("POST", "/stock/imports", **sent)
    assert again["import_id"] == accepted["import_id"]
    assert pieces(saga, sku) == {f"{sku}-{number}": ROWS // SKUS for number in range(SKUS)}


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("mode", ["all", "rows"])
def test_an_import_that_is_killed_again_and_again_adds_each_piece_once(
    saga: Saga, stack: LiveStack, faults: Faults, mode: str
) -> None:
    sku, inventory, rows = f"LONG-{uuid4().hex[:8]}", saga.shop.inventory, 20 * ROWS
    options = {"params": {"mode": mode}, "headers": {"Content-Type": "text/csv"}}
    content = deliveries(sku, rows)
    import_id = inventory.call("POST", "/stock/imports", content=content, **options)["import_id"]
    kills, seen = 0, 0
    query = "SELECT status, done, applied, ended_at FROM imports WHERE key = :key"

    def further() -> dict[str, Any] | None:
        found = saga.db.row("inventory", query, key=import_id)
        return found if found and (found["ended_at"] or found["done"] > seen) else None

    while not (now := until(further, "the import to go on", 120))["ended_at"]:
        seen = now["done"]
        if kills < MOST_KILLS:
            stack.kill("inventory")
            faults.wait_started("inventory")
            kills += 1
    assert kills >= 3
    assert (now["status"], now["applied"]) == ("succeeded", rows)
    assert pieces(saga, sku) == {f"{sku}-{number}": rows // SKUS for number in range(SKUS)}


def test_a_report_whose_worker_is_killed_while_it_writes_has_each_order_once_and_is_told_once(
    saga: Saga, stack: LiveStack, faults: Faults, tmp_path: Path
) -> None:
    began = datetime.now(UTC) - timedelta(seconds=5)
    sku = saga.goods("MUG", 100)
    orders = [saga.place({sku: 1}, unit_price=1000 + number) for number in range(3)]
    for order_id in orders:
        assert saga.ended(order_id) == "confirmed"
    figures = saga.shop.analytics
    heard = "SELECT 1 FROM order_figures WHERE key = ANY(:keys) AND status = 'confirmed'"
    until(
        lambda: len(saga.db.rows("analytics", heard, keys=orders)) == len(orders),
        "analytics to hear of them",
    )
    period = {"since": format_time(began), "until": format_time(datetime.now(UTC))}
    with killed_while_it_writes(stack, "analytics", "report_pages"):
        report = figures.call("POST", "/reports", json=period)
    done = ended(figures, report["status_url"])
    assert (done["status"], done["percent"]) == ("succeeded", 100)
    target = tmp_path / "orders.csv"
    downloaded = orderctl("reports", "download", report["report_id"], "--output", str(target))
    assert downloaded.returncode == 0, downloaded.stderr
    with target.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert target.stat().st_size == done["size"]
    ours = [row for row in rows if row["order_id"] in orders]
    assert [row["order_id"] for row in ours] == orders
    assert [(row["status"], row["total"]) for row in ours] == [
        ("confirmed", str(1000 + number)) for number in range(3)
    ]
    assert len(rows) == len({row["order_id"] for row in rows}) == done["rows"]
    saga.wait_for(report["report_id"], "ReportReady")
    assert saga.topics.types(report["report_id"]) == ["ReportReady"]


def test_long_work_is_followed_by_a_stream_to_its_end(saga: Saga) -> None:
    sku, inventory = f"LONG-{uuid4().hex[:8]}", saga.shop.inventory
    accepted = inventory.call(
        "POST", "/stock/imports", content=deliveries(sku), headers={"Content-Type": "text/csv"}
    )
    with follow(f"{inventory.base_url}{accepted['status_url']}/events") as stream:
        told = stream.rest()
    assert [one.name for one in told[:-1]] == ["import"] * (len(told) - 1)
    percents = [one.data["percent"] for one in told[:-1]]
    assert percents == sorted(percents) and percents[-1] == 100
    assert (told[-1].name, told[-1].data["status"]) == ("end", "succeeded")
    last = {"Last-Event-ID": told[-2].id}
    back = inventory.send("GET", f"{accepted['status_url']}/events", headers=last)
    assert back.status_code == 204


def test_the_command_line_says_what_was_wrong_with_a_file_and_applies_the_rest(
    saga: Saga, tmp_path: Path
) -> None:
    sku, path = f"LONG-{uuid4().hex[:8]}", tmp_path / "deliveries.csv"
    path.write_text(f"sku,quantity\n{sku}-1,5\n{sku}-2,many\n")
    done = orderctl("imports", "start", str(path), "--mode", "rows", "--wait", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["applied"], found["invalid"]) == (1, 1, 1)
    assert f"orderctl imports errors {found['import_id']}" in done.stderr
    errors = orderctl("imports", "errors", found["import_id"])
    assert errors.stdout.splitlines()[1].startswith(f'3,"{sku}-2,many",quantity')
    assert pieces(saga, sku) == {f"{sku}-1": 5}
    newest = json.loads(orderctl("imports", "list", "--limit", "1", "--json").stdout)
    assert [one["import_id"] for one in newest] == [found["import_id"]]
    assert found["import_id"] in orderctl("imports", "list").stdout


def test_the_command_line_manages_webhooks(saga: Saga) -> None:
    made = orderctl_json(
        "webhooks", "register", "http://127.0.0.1:9/", "--event", "order.cancelled"
    )
    assert made["secret"].startswith("whsec_")
    sent = orderctl_json("webhooks", "test", made["webhook_id"])
    listed = orderctl_json("webhooks", "deliveries", made["webhook_id"])
    assert [one["delivery_id"] for one in listed] == [sent["delivery_id"]]
    assert orderctl("webhooks", "disable", made["webhook_id"]).returncode == 0
    refused = orderctl("webhooks", "test", made["webhook_id"])
    assert refused.returncode == 1 and "409" in refused.stderr
