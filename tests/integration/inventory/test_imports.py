"""Imports on a real database: applied once whatever happens to their workers, all or by row."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from services.eventkit.idempotency import Once
from services.eventkit.jobs import JobKind
from services.eventkit.results import LostLease
from services.eventkit.retention import prune
from services.inventory import import_store
from services.inventory.__main__ import SERVICE
from services.inventory.domain import Line
from services.inventory.imports import Chunk
from services.inventory.store import receive
from tests.integration.by_hand import ByHand
from tests.integration.scratch import Scratch

CSV = {"Content-Type": "text/csv"}
NONE = timedelta(0)


@pytest.fixture
def kinds(inventory: Scratch) -> list[JobKind]:
    return list(SERVICE.jobs(inventory.runtime.settings))


@pytest.fixture
def worker(inventory: Scratch, kinds: list[JobKind]) -> ByHand:
    return ByHand(inventory, kinds)


def file(*rows: str) -> str:
    return "\n".join(["sku,quantity", *rows]) + "\n"


TEN = file(*(f"SKU-{number:02},{number + 1}" for number in range(10)))
"""Ten rows in chunks of 40 bytes: three of them."""


def sent(
    client: TestClient, content: str | bytes, mode: str = "all", **more: str
) -> dict[str, Any]:
    answer = client.post(f"/stock/imports?mode={mode}", content=content, headers=CSV | more)
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.json()
    assert answer.headers["Location"] == found["status_url"]
    return found


def pieces(inventory: Scratch) -> dict[str, int]:
    rows = inventory.rows("SELECT sku, imported FROM stock WHERE imported = available + held")
    return {row[0]: row[1] for row in rows}


WHOLE = {f"SKU-{number:02}": number + 1 for number in range(10)}


@pytest.mark.parametrize("mode", ["all", "rows"])
def test_a_file_is_applied_chunk_by_chunk_or_all_at_once(
    inventory: Scratch, client: TestClient, worker: ByHand, mode: str
) -> None:
    one = sent(client, TEN, mode)
    assert (one["status"], one["lines"], one["percent"]) == ("pending", 10, 0)
    seen = []
    while worker.step() is not None:
        seen.append(len(pieces(inventory)))
    assert len(seen) >= 3
    assert seen == sorted(seen) and seen[-1] == 10
    assert (seen[0] > 0) == (mode == "rows")
    done = client.get(one["status_url"]).json()
    assert (done["status"], done["percent"], done["applied"]) == ("succeeded", 100, 10)
    assert pieces(inventory) == WHOLE


def test_one_wrong_row_keeps_all_of_a_file_out_or_only_itself(
    inventory: Scratch, client: TestClient, worker: ByHand
) -> None:
    wrong = TEN + "SKU-99,none\n\nSKU 98,4\n"
    one = sent(client, wrong)
    worker.work()
    failed = client.get(one["status_url"]).json()
    assert (failed["status"], failed["reason"]) == ("failed", "invalid_rows")
    assert (failed["valid"], failed["invalid"], failed["applied"]) == (10, 2, 0)
    assert pieces(inventory) == {}
    report = client.get(one["errors_url"])
    assert report.headers["content-type"].startswith("text/csv")
    lines = report.text.split("\r\n")
    assert lines[:2] == [
        "line,row,error",
        '12,"SKU-99,none",quantity: a whole number from 1 to 1000000',
    ]
    assert lines[2].startswith('14,"SKU 98,4","sku: ')
    other = sent(client, wrong, "rows")
    worker.work()
    done = client.get(other["status_url"]).json()
    assert (done["status"], done["applied"], done["invalid"]) == ("succeeded", 10, 2)
    assert pieces(inventory) == WHOLE


@pytest.mark.parametrize("mode", ["all", "rows"])
def test_a_chunk_of_a_worker_that_lost_its_lease_is_not_applied_twice(
    inventory: Scratch, client: TestClient, worker: ByHand, kinds: list[JobKind], mode: str
) -> None:
    sent(client, TEN, mode)
    successor = ByHand(inventory, kinds, "successor")
    while (slow := worker.claim()) is not None:
        stale = worker.call(slow)
        taken = successor.claim(later=timedelta(hours=1))
        assert taken is not None and taken.row.job_id == slow.row.job_id
        assert successor.store(taken, successor.call(taken)) == "applied"
        with pytest.raises(LostLease):
            worker.store(slow, stale)
    assert pieces(inventory) == WHOLE


def test_an_import_goes_on_at_its_last_chunk_after_its_worker_died(
    inventory: Scratch, client: TestClient, worker: ByHand, kinds: list[JobKind]
) -> None:
    one = sent(client, TEN, "rows")
    assert worker.step() == "applied"
    before = pieces(inventory)
    dead = worker.claim()
    assert dead is not None and dead.row.args == {"chunk": 1}
    successor = ByHand(inventory, kinds, "successor")
    taken = successor.claim(later=timedelta(hours=1))
    assert taken is not None and taken.row.args == dead.row.args
    successor.store(taken, successor.call(taken))
    successor.work()
    assert before.items() < pieces(inventory).items() == WHOLE.items()
    assert client.get(one["status_url"]).json()["status"] == "succeeded"


@pytest.mark.parametrize(("mode", "stays"), [("all", False), ("rows", True)])
def test_a_cancelled_import_applies_nothing_more(
    inventory: Scratch, client: TestClient, worker: ByHand, mode: str, stays: bool
) -> None:
    one = sent(client, TEN, mode)
    worker.step()
    before = pieces(inventory)
    running = worker.claim()
    assert running is not None
    checked = worker.call(running)
    for _ in range(2):
        gone = client.delete(one["status_url"])
        assert (gone.status_code, gone.json()["status"]) == (202, "cancelled")
    assert worker.store(running, checked) == "ignored:import_over"
    assert worker.work() == 0
    assert pieces(inventory) == before
    assert bool(before) == stays
    assert client.get(one["status_url"]).json()["applied"] == len(before)


def test_an_import_that_has_ended_is_not_cancelled(client: TestClient, worker: ByHand) -> None:
    one = sent(client, TEN)
    worker.work()
    refused = client.delete(one["status_url"])
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/import-ended")


def test_the_same_key_is_the_same_import_and_stores_its_file_once(
    inventory: Scratch, client: TestClient, worker: ByHand
) -> None:
    key = {"Idempotency-Key": str(uuid4())}
    first = sent(client, TEN, **key)
    chunks = inventory.total("SELECT count(*) FROM import_chunks")
    again = client.post("/stock/imports", content=TEN, headers=CSV | key)
    assert (again.json()["import_id"], again.status_code) == (first["import_id"], 202)
    assert again.headers["Idempotent-Replayed"] == "true"
    for content, mode in ((TEN + "X,1\n", "all"), (TEN, "rows")):
        other = client.post(f"/stock/imports?mode={mode}", content=content, headers=CSV | key)
        assert other.status_code == 422
    assert inventory.total("SELECT count(*) FROM import_chunks") == chunks
    worker.work()
    assert pieces(inventory) == WHOLE


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (TEN, {"Content-Type": "application/json"}, 415),
        ("SKU-1,5\n", CSV, 422),
        ("sku,quantity\n", CSV, 422),
        (TEN + "X" * 5000, CSV, 422),
        (TEN * 400, CSV, 413),
    ],
)
def test_a_file_that_is_refused_leaves_nothing_behind(
    inventory: Scratch, client: TestClient, content: str, headers: dict[str, str], status: int
) -> None:
    answer = client.post("/stock/imports", content=content, headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    # One that does not say how large it is, and is cut off while it arrives.
    pieces = (content[at : at + 100].encode() for at in range(0, len(content), 100))
    assert client.post("/stock/imports", content=pieces, headers=headers).status_code == status
    assert inventory.total("SELECT count(*) FROM import_chunks") == 0


def test_a_file_stays_where_nobody_knows_whether_its_import_was_accepted(
    inventory: Scratch, client: TestClient, worker: ByHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection may end between a commit and its answer."""
    do = Once.do

    async def lost(*args: Any) -> Any:
        await do(*args)
        raise sa.exc.OperationalError("COMMIT", {}, Exception("the server closed the connection"))

    monkeypatch.setattr(Once, "do", lost)
    assert client.post("/stock/imports", content=TEN, headers=CSV).status_code == 503
    monkeypatch.undo()
    worker.work()
    (one,) = client.get("/stock/imports").json()["imports"]
    assert (one["status"], one["applied"]) == ("succeeded", 10)
    assert pieces(inventory) == WHOLE


def test_a_file_may_be_larger_than_other_requests_and_not_much(client: TestClient) -> None:
    large = file(*(f"SKU-{number},1" for number in range(1100)))
    assert 10_000 < len(large) < 20_000
    sent(client, large)
    refused = client.post("/stock/receipts", content=large, headers=CSV)
    assert refused.status_code == 413


def test_imports_receipts_and_orders_of_the_same_skus_never_wait_in_a_circle(
    inventory: Scratch, client: TestClient, worker: ByHand
) -> None:
    """Each locks many rows of the stock: in another order one would be a deadlock's victim."""
    skus = [f"SKU-{number:02}" for number in range(10)]
    backwards = file(*(f"{sku},{WHOLE[sku]}" for sku in reversed(skus)))
    sent(client, backwards, "rows")
    sent(client, TEN, "all")

    def receipts() -> None:
        for _ in range(20):
            with inventory.db.begin() as conn:
                receive(conn, "demo", [Line(sku, 1) for sku in reversed(skus)])

    with ThreadPoolExecutor(3) as pool:
        done = pool.submit(worker.work)
        for deliveries in [pool.submit(receipts), pool.submit(receipts)]:
            deliveries.result()
        assert done.result() >= 6
    assert pieces(inventory) == {sku: 2 * number + 40 for sku, number in WHOLE.items()}


def test_so_many_imports_of_a_tenant_are_under_way_at_once(
    inventory: Scratch, client: TestClient
) -> None:
    for _ in range(2):
        sent(client, TEN)
    refused = client.post("/stock/imports", content=TEN, headers=CSV)
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "5")
    assert inventory.total("SELECT count(DISTINCT import_id) FROM import_chunks") == 2


def test_another_tenants_import_is_not_there(inventory: Scratch, client: TestClient) -> None:
    one = sent(client, TEN)
    with inventory.db.begin() as conn:
        conn.execute(sa.text("UPDATE imports SET tenant_id = 'another'"))
    url = one["status_url"]
    for method, path in (("GET", url), ("GET", f"{url}/errors"), ("GET", f"{url}/events")):
        assert client.request(method, path).status_code == 404
    assert client.delete(url).status_code == 404
    assert client.get("/stock/imports").json() == {"imports": []}


def test_the_newest_imports_are_listed_first(client: TestClient) -> None:
    first, second = sent(client, TEN), sent(client, TEN)
    ids = [second["import_id"], first["import_id"]]
    listed = client.get("/stock/imports").json()["imports"]
    assert [one["import_id"] for one in listed] == ids
    listed = client.get("/stock/imports", params={"limit": 1}).json()["imports"]
    assert [one["import_id"] for one in listed] == ids[:1]


def test_what_an_import_left_is_forgotten(
    inventory: Scratch, client: TestClient, worker: ByHand
) -> None:
    sent(client, TEN + "bad\n")
    kept = ("import_chunks", import_store.OLD_CHUNKS)
    assert prune(inventory.db, *kept, NONE) == 0, "an import under way needs its chunks"
    worker.work()
    assert inventory.total("SELECT count(*) FROM import_chunks") == 0
    with inventory.db.begin() as conn:
        import_store.add_chunk(conn, "imp_never_arrived", Chunk(0, 2, b"TEA,1"))
    assert prune(inventory.db, *kept, timedelta(hours=1)) == 0
    assert prune(inventory.db, *kept, NONE) == 1
    assert prune(inventory.db, "import_rows", import_store.OLD_ROWS, NONE) == 10
    assert prune(inventory.db, "imports", import_store.OLD_IMPORTS, NONE) == 0
    assert prune(inventory.db, "import_errors", import_store.OLD_ERRORS, NONE) == 1
    assert prune(inventory.db, "imports", import_store.OLD_IMPORTS, NONE) == 1
