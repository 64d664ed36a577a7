"""The capacity formula: depth x time / workers, and honest where it never drains."""

import pytest

from services.orderctl.capacity import CONSUMER, JOB, Queue, consumers, jobs, unknown
from services.orderctl.scrape import Metrics, parse


def queue(
    depth: float = 600, seconds: float | None = 0.01, workers: int = 1, arrivals: float = 0
) -> Queue:
    return Queue(CONSUMER, "order", depth, seconds, workers, arrivals)


def test_without_arrivals_it_is_depth_times_time_over_workers() -> None:
    assert queue().drains_in == pytest.approx(6)
    assert queue(workers=3).drains_in == pytest.approx(2)
    assert queue(depth=0).verdict == "empty"


def test_arrivals_take_from_the_rate() -> None:
    assert queue(arrivals=50).drains_in == pytest.approx(12)
    assert queue(arrivals=50).use == pytest.approx(0.5)


@pytest.mark.parametrize("arrivals", [100, 250])
def test_where_more_arrives_than_is_done_it_never_drains(arrivals: float) -> None:
    late = queue(arrivals=arrivals)
    assert late.drains_in is None
    assert not late.well
    assert late.verdict.startswith("never: more arrives than is done; it needs")
    assert f"needs {int(arrivals / 100) + 1} workers" in late.verdict


def test_nobody_knows_without_a_task_and_nothing_happens_without_a_worker() -> None:
    assert queue(seconds=None).verdict == "unknown: no task was done yet"
    assert queue(workers=0).verdict == "never: nobody works on it"
    assert not queue(workers=0).well


def metrics(done: int, busy: float, read: int, lag: int) -> str:
    return f"""
# TYPE saga_batch_seconds histogram
saga_batch_seconds_sum {busy}
saga_batch_seconds_count 3
# TYPE saga_batch_records histogram
saga_batch_records_sum {done}
saga_batch_records_count 3
# TYPE saga_consumer_members gauge
saga_consumer_members{{group="email"}} 1
# TYPE saga_consumer_lag_events gauge
saga_consumer_lag_events{{group="email",topic="order.events",partition="0"}} {lag}
saga_consumer_lag_events{{group="email",topic="order.events",partition="1"}} 0
# TYPE saga_consumer_next_offset gauge
saga_consumer_next_offset{{group="email",topic="order.events"}} {read}
# TYPE saga_job_seconds histogram
saga_job_seconds_sum{{kind="mail_confirmed"}} {busy}
saga_job_seconds_count{{kind="mail_confirmed"}} {done}
# TYPE saga_jobs gauge
saga_jobs{{kind="mail_confirmed",status="pending"}} 0
saga_jobs{{kind="mail_cancelled",status="pending"}} 0
"""


def test_a_consumer_is_measured_between_two_looks() -> None:
    before = parse(metrics(done=100, busy=9.0, read=1000, lag=10))
    after = parse(metrics(done=200, busy=10.0, read=1100, lag=40))
    first, second = ({"connect-guardian": one, "email": one} for one in (before, after))
    (found,) = consumers(first, second, 10)
    assert (found.name, found.depth, found.workers) == ("email", 40, 1)
    assert found.seconds == pytest.approx(0.01)
    assert found.arrivals == pytest.approx(13)
    assert found.drains_in == pytest.approx(40 / 87)


def test_when_nothing_was_done_meanwhile_the_time_of_all_so_far_counts() -> None:
    look = parse(metrics(done=100, busy=2.0, read=1000, lag=5))
    scrapes = {"connect-guardian": look, "email": look}
    (found,) = consumers(scrapes, scrapes, seconds=10)
    assert found.seconds == pytest.approx(0.02)
    only_email = {"email": look}
    idle, job = jobs(only_email, only_email, {("email", "mail_confirmed"): 80}, 10, slots=8)
    assert (idle.name, idle.verdict) == ("email mail_cancelled", "empty")
    assert (job.kind, job.name, job.workers) == (JOB, "email mail_confirmed", 8)
    assert job.drains_in == pytest.approx(80 * 0.02 / 8)


def test_a_process_that_does_not_answer_is_unknown() -> None:
    look = parse(metrics(done=100, busy=2.0, read=1000, lag=5))
    (found,) = consumers({"connect-guardian": look}, {"connect-guardian": look}, 10)
    assert found.seconds is None
    assert not list(consumers({}, {}, 10))


def broker(answers: int) -> dict[str, Metrics]:
    text = f"# TYPE saga_broker_answers gauge\nsaga_broker_answers {answers}\n"
    return {"connect-guardian": parse(text), "email": parse("")}


def test_what_could_not_be_looked_at_is_told() -> None:
    asked = ("connect-guardian", "email")
    assert unknown(asked, broker(1), broker(1)) == []
    for before, after in ((1, 0), (0, 1), (0, 0)):
        (told,) = unknown(asked, broker(before), broker(after))
        assert "broker did not answer" in told
    only_email = {"email": parse("")}
    assert unknown(asked, only_email, broker(1)) == [
        "connect-guardian did not answer: nothing is known of it"
    ]
