"""Reports on a real database: whole whatever happens to their workers, and nobody else's."""

import csv
import io
import tracemalloc
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from services.analytics.__main__ import SERVICE
from services.analytics.jobs import Pages
from services.analytics.report_store import OLD_PAGES, OLD_REPORTS
from services.eventkit.jobs import JobKind
from services.eventkit.results import LostLease
from services.eventkit.retention import prune
from tests.events import event
from tests.integration.by_hand import ByHand
from tests.integration.scratch import Scratch

DAY = datetime(2026, 3, 1, tzinfo=UTC)
PERIOD = {"since": "2026-03-01T00:00:00Z", "until": "2026-03-02T00:00:00Z"}


@pytest.fixture
def kinds(analytics: Scratch) -> list[JobKind]:
    return list(SERVICE.jobs(analytics.runtime.settings))


@pytest.fixture
def worker(analytics: Scratch, kinds: list[JobKind]) -> ByHand:
    return ByHand(analytics, kinds)


def placed(analytics: Scratch, number: int, at: datetime = DAY, **more: Any) -> list[str]:
    """Orders placed in the period; two at a time at the same moment."""
    keys = sorted(str(uuid4()) for _ in range(number))
    data = {"customer_id": "customer-1", "total": 4200, "currency": "EUR"}
    for n, key in enumerate(keys):
        when = at + timedelta(minutes=n // 2)
        analytics.handle(event("OrderPlaced", data, key=key, time=when, **more))
    return keys


def asked(client: TestClient, **more: Any) -> dict[str, Any]:
    answer = client.post("/reports", json=PERIOD, **more)
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.json()
    assert answer.headers["Location"] == found["status_url"]
    return found


def rows(client: TestClient, report: dict[str, Any]) -> list[str]:
    answer = client.get(f"{report['status_url']}/file")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/csv")
    return [row["order_id"] for row in csv.DictReader(io.StringIO(answer.text, newline=""))]


def test_a_report_has_every_order_of_its_period_once_whatever_the_size_of_a_page(
    analytics: Scratch, client: TestClient, worker: ByHand
) -> None:
    keys = placed(analytics, 9)
    placed(analytics, 2, DAY - timedelta(hours=1))
    placed(analytics, 2, DAY + timedelta(days=1))
    placed(analytics, 2, tenant_id="another")
    report = asked(client)
    assert (report["status"], report["percent"], report["file_url"]) == ("pending", 0, None)
    assert client.get(f"{report['status_url']}/file").status_code == 409
    seen = []
    while worker.step() is not None:
        seen.append(client.get(report["status_url"]).json()["percent"])
    assert seen == [33, 66, 99, 100]
    ready = client.get(report["status_url"]).json()
    assert rows(client, ready) == keys
    assert (ready["status"], ready["rows"]) == ("succeeded", 9)
    assert analytics.emitted(report["report_id"]) == ["ReportReady"]


def test_a_page_read_by_a_worker_that_lost_its_lease_is_not_in_the_file_twice(
    analytics: Scratch, client: TestClient, worker: ByHand, kinds: list[JobKind]
) -> None:
    keys = placed(analytics, 7)
    report = asked(client)
    assert worker.step() == "applied"
    slow = worker.claim()
    assert slow is not None
    stale = worker.call(slow)
    successor = ByHand(analytics, kinds, "successor")
    taken = successor.claim(later=timedelta(hours=1))
    assert taken is not None and taken.row.job_id == slow.row.job_id
    assert successor.store(taken, successor.call(taken)) == "applied"
    with pytest.raises(LostLease):
        worker.store(slow, stale)
    successor.work()
    assert rows(client, report) == keys


def test_a_report_goes_on_at_its_last_page_after_its_worker_died(
    analytics: Scratch, client: TestClient, worker: ByHand, kinds: list[JobKind]
) -> None:
    keys = placed(analytics, 7)
    report = asked(client)
    assert worker.step() == "applied"
    dead = worker.claim()
    assert dead is not None and dead.row.args["page"] == 1
    successor = ByHand(analytics, kinds, "successor")
    taken = successor.claim(later=timedelta(hours=1))
    assert taken is not None and taken.row.args == dead.row.args
    successor.store(taken, successor.call(taken))
    assert successor.work() == 1
    assert rows(client, report) == keys


def test_the_same_key_is_the_same_report_and_other_content_is_refused(
    client: TestClient, analytics: Scratch
) -> None:
    key = {"Idempotency-Key": str(uuid4())}
    first, again = asked(client, headers=key), asked(client, headers=key)
    assert first["report_id"] == again["report_id"]
    other = client.post("/reports", json=PERIOD | {"until": "2026-03-03T00:00:00Z"}, headers=key)
    assert other.status_code == 422
    assert analytics.total("SELECT count(*) FROM reports") == 1


def test_a_cancelled_report_is_written_no_further_and_has_no_file(
    analytics: Scratch, client: TestClient, worker: ByHand
) -> None:
    placed(analytics, 7)
    report = asked(client)
    worker.step()
    running = worker.claim()
    assert running is not None
    for _ in range(2):
        gone = client.delete(report["status_url"])
        assert (gone.status_code, gone.json()["status"]) == (202, "cancelled")
    assert worker.store(running, worker.call(running)) == "ignored:report_over"
    assert worker.work() == 0
    assert client.get(f"{report['status_url']}/file").status_code == 409
    assert prune(analytics.db, "report_pages", OLD_PAGES, timedelta(0)) == 1
    assert analytics.emitted(report["report_id"]) == []


def test_a_file_expires_and_is_forgotten(
    analytics: Scratch, client: TestClient, worker: ByHand
) -> None:
    placed(analytics, 1)
    report = asked(client)
    worker.work()
    assert client.delete(report["status_url"]).status_code == 409
    assert prune(analytics.db, "report_pages", OLD_PAGES, timedelta(0)) == 0
    with analytics.db.begin() as conn:
        conn.execute(sa.text("UPDATE reports SET expires_at = now() - interval '1 second'"))
    gone = client.get(f"{report['status_url']}/file")
    assert (gone.status_code, gone.json()["type"]) == (410, "/problems/report-expired")
    assert prune(analytics.db, "report_pages", OLD_PAGES, timedelta(0)) == 1
    assert prune(analytics.db, "reports", OLD_REPORTS, timedelta(hours=1)) == 0
    with analytics.db.begin() as conn:
        conn.execute(sa.text("UPDATE reports SET ended_at = now() - interval '2 hours'"))
    assert prune(analytics.db, "reports", OLD_REPORTS, timedelta(hours=1)) == 1


def test_a_report_whose_page_cannot_be_read_says_that_it_failed(
    client: TestClient, worker: ByHand
) -> None:
    report = asked(client)
    job = worker.claim()
    assert job is not None
    worker.store(job, {"reason": "attempts_exhausted"}, "dead")
    failed = client.get(report["status_url"]).json()
    assert (failed["status"], failed["reason"]) == ("failed", "attempts_exhausted")


def test_so_many_reports_of_a_tenant_are_written_at_once(client: TestClient) -> None:
    for _ in range(2):
        asked(client)
    refused = client.post("/reports", json=PERIOD)
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "5")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"since": "2026-03-01T00:00:00Z"}, "until"),
        (PERIOD | {"since": "yesterday"}, "since"),
        (PERIOD | {"since": 1}, "since"),
        (PERIOD | {"since": "1772323200"}, "since"),
        (PERIOD | {"since": "2026-03-01T00:00:00"}, "since"),
        (PERIOD | {"since": "0001-01-01T00:00:00+14:00"}, "since"),
        (PERIOD | {"until": PERIOD["since"]}, "body"),
        (PERIOD | {"tenant": "x"}, "tenant"),
    ],
)
def test_c20_a_period_that_makes_no_sense_names_the_field(
    client: TestClient, body: dict[str, Any], field: str
) -> None:
    answer = client.post("/reports", json=body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field


def test_another_tenants_report_is_not_there(client: TestClient, analytics: Scratch) -> None:
    report = asked(client)
    with analytics.db.begin() as conn:
        conn.execute(sa.text("UPDATE reports SET tenant_id = 'another'"))
    url = report["status_url"]
    for method, path in (("GET", url), ("GET", f"{url}/file"), ("GET", f"{url}/events")):
        assert client.request(method, path).status_code == 404
    assert client.delete(url).status_code == 404
    assert client.get("/reports").json() == {"reports": []}


def test_a_large_report_is_read_page_by_page_by_an_index(analytics: Scratch) -> None:
    """A sort of a whole period for each page would make a report of n pages cost n squared."""
    with analytics.db.begin() as conn:
        conn.execute(sa.text("SET LOCAL enable_seqscan = off"))
        plan = conn.execute(
            sa.text("""
            EXPLAIN SELECT key FROM order_figures WHERE tenant_id = 'demo'
            AND placed_at >= '2026-03-01' AND placed_at < '2026-03-02'
            AND (placed_at, key) > ('2026-03-01', '') ORDER BY placed_at, key LIMIT 10""")
        ).scalars()
        text = "\n".join(plan)
    assert "order_figures_placed" in text and "Sort" not in text


def test_memory_is_bounded_by_the_page_not_by_the_report(
    analytics: Scratch, client: TestClient
) -> None:
    with analytics.db.begin() as conn:
        conn.execute(
            sa.text("""
            INSERT INTO order_figures (key, tenant_id, order_sequence, status, customer_id,
                currency, total, placed_at, reservation_sequence, payment_sequence,
                message_sequence, mails, version)
            SELECT gen_random_uuid(), 'demo', 1, 'pending', 'customer-' || n, 'EUR', n,
                timestamptz '2026-03-01 00:00Z' + n * interval '1 second', 0, 0, 0, '[]', 0
            FROM generate_series(1, 30000) AS n""")
        )
    report = asked(client)
    pages = Pages(analytics.db, 500, 3600.0)
    worker = ByHand(analytics, [JobKind("report", pages.read, "reports")])
    worker.step()
    tracemalloc.start()
    worker.work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    done = client.get(report["status_url"]).json()
    assert (done["status"], done["rows"]) == ("succeeded", 30_000)
    assert peak < done["size"] / 2
    assert len(set(rows(client, done))) == 30_000
