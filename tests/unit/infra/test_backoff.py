from types import SimpleNamespace

from supervisor import events

from infra.local import backoff


def test_failures_are_counted_no_higher_than_the_longest_wait() -> None:
    process = SimpleNamespace(backoff=0, config=SimpleNamespace(name="order"))
    backoff.install(None)
    try:
        for _ in range(50):
            process.backoff += 1
            events.notify(events.ProcessStateBackoffEvent(process, None))
            assert process.backoff <= backoff.RETRIES
    finally:
        events.clear()
    assert process.backoff == backoff.LONGEST_WAIT
