"""The command line on the whole stack: many clients at once, every ending, verified, replayed."""

from typing import Any

import pytest

from tests.live_stack import LiveStack
from tests.saga.support.orderctl import orderctl, orderctl_json, problems

ENDINGS = {
    "confirmed",
    "cancelled:out_of_stock",
    "cancelled:payment_declined",
    "cancelled:customer_request",
    "cancelled:payment_timeout",
}


@pytest.fixture(scope="module")
def load(stack: LiveStack) -> dict[str, Any]:
    """200 orders of every kind, placed by 20 clients as fast as they can."""
    # Other tests leave forged events behind on purpose: what they cause was there before.
    before = problems()
    report = orderctl_json("load", "--max", "--orders", "200", "--clients", "20")
    return {"report": report, "new_problems": problems() - before}


def test_200_orders_of_20_clients_all_end(load: dict[str, Any]) -> None:
    report = load["report"]
    assert (report["placed"], report["failed"], report["unfinished"]) == (200, 0, [])
    assert set(report["endings"]) == ENDINGS
    assert sum(report["endings"].values()) == 200


def test_every_invariant_holds_after_the_load(load: dict[str, Any]) -> None:
    assert load["new_problems"] == set()


def test_the_relay_is_measured_in_the_same_run(load: dict[str, Any]) -> None:
    report = load["report"]
    assert report["hop"]["count"] >= 600
    assert set(report["hop_by_topic"]) == {"order.events", "inventory.events", "payment.events"}
    assert report["ratio_to_three_hops"]["p50"] > 0


def test_nobody_lags_when_all_is_quiet(load: dict[str, Any]) -> None:
    groups = orderctl_json("lag")
    assert {group["group"]: group["lag"] for group in groups} == dict.fromkeys(
        ("order", "inventory", "payment", "email", "analytics", "projector"), 0
    )


def test_every_queue_drains_after_the_load(load: dict[str, Any]) -> None:
    """What was measured of 200 orders is what the formula is fed with."""
    queues = {queue["name"]: queue for queue in orderctl_json("capacity", "--seconds", "6")}
    for name in ("order", "inventory", "payment", "email", "analytics", "projector"):
        assert queues[name]["workers"] == 1
        assert 0 < queues[name]["seconds"] < 1, name
        assert queues[name]["drains_in_seconds"] == 0
    assert queues["payment charge"]["rate"] == pytest.approx(
        queues["payment charge"]["workers"] / queues["payment charge"]["seconds"]
    )


def test_the_doctor_looks_at_everything(load: dict[str, Any]) -> None:
    """Other tests may have left orders and letters behind; the rest must be well."""
    findings = {finding["check"]: finding for finding in orderctl_json("doctor")}
    assert {name for name, finding in findings.items() if not finding["well"]} <= {
        "orders",
        "letters",
        "disk",
    }
    assert set(findings) > {"processes", "broker", "relays", "registry", "jobs", "read model"}
    assert findings["processes"]["looked_at"] == "10 processes"
    for finding in findings.values():
        assert all(problem["remedy"] for problem in finding["problems"])


def test_verify_finds_a_read_model_that_differs(stack: LiveStack, load: dict[str, Any]) -> None:
    change = "UPDATE order_view SET total = total + %s WHERE order_id = %s"
    with stack.admin("projector_db") as admin:
        row = admin.execute("SELECT order_id FROM order_view WHERE total > 0 LIMIT 1").fetchone()
        assert row is not None
        admin.execute(change, (1, row[0]))
        try:
            done = orderctl("verify", "--wait", "5")
        finally:
            admin.execute(change, (-1, row[0]))
    assert done.returncode == 1
    assert "read_model_agrees" in done.stdout and "failed" in done.stdout


def test_a_replay_gives_back_deleted_rows_as_they_were(
    stack: LiveStack, load: dict[str, Any]
) -> None:
    def rows() -> list[tuple[Any, ...]]:
        with stack.admin("projector_db") as admin:
            return admin.execute("SELECT * FROM order_view ORDER BY order_id").fetchall()

    before = rows()
    with stack.admin("projector_db") as admin:
        gone = admin.execute(
            "DELETE FROM order_view WHERE order_id IN"
            " (SELECT order_id FROM order_view WHERE placed_at IS NOT NULL"
            "  ORDER BY md5(order_id::text) LIMIT 20)"
        )
    assert gone.rowcount == 20
    dry = orderctl_json("replay", "--topic", "order.events", "--from-beginning", "--dry-run")
    assert dry["dry_run"] and dry["records"] >= 400
    done = orderctl("replay", "--topic", "order.events", "--from-beginning")
    assert done.returncode == 0, done.stderr
    assert rows() == before


def test_what_is_missing_is_named_with_the_next_step(
    stack: LiveStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAGA_ENV_FILE", "/nonexistent/orderctl.env")
    done = orderctl("lag")
    assert done.returncode == 1
    assert "SAGA_KAFKA_BOOTSTRAP" in done.stderr and "make up" in done.stderr
