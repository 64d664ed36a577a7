"""Shadow rebuild: the same rows, what differs is named, the way back, and what cannot be."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psutil
import pytest

from services.eventkit.positions import Unreachable
from services.eventkit.rebuild import feed, rebuilder, worker
from services.eventkit.rebuild.compare import compare
from services.eventkit.rebuild.model import RebuildFailed, RebuildRefused
from services.eventkit.rebuild.rebuilder import Progress
from services.projector import control, rebuild
from services.projector.projections import OTHERS, VIEW
from services.projector.replay import FromBeginning
from services.projector.views import TimelineEntry
from tests.integration.projector.rig import Rig
from tests.integration.projector.traffic import many, story, told
from tests.unit.projector.stories import CONFIRMED

ORDERS = 100


@pytest.fixture(scope="module")
def filled(rig: Rig) -> Iterator[Rig]:
    """A rig with orders of every kind, repeats of some events, and records nobody can project."""
    events = many(ORDERS)
    rig.produce([*events, *events[::7]])
    (event,) = story(CONFIRMED[:1], uuid4())
    nul = ("OrderPlaced", 1, {**CONFIRMED[0][2], "customer_id": "nul\x00"})
    rig.produce([replace(event, value=b"no avro"), told(nul, uuid4(), datetime.now(UTC))])
    rig.caught_up()
    yield rig


@pytest.fixture(autouse=True)
def none_left(filled: Rig) -> Iterator[None]:
    """Nothing but the current generation is there when a test ends."""
    yield
    filled.rebuilder().drop()


def generations(rig: Rig) -> dict[int, str]:
    return {one.number: one.status for one in rig.rebuilder().known()}


def test_the_live_model_goes_on_while_rows_are_compared(
    filled: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a batch takes before it writes can be had meanwhile, and is held for the swap only."""
    taken = []

    def looking(*arguments: Any) -> Any:
        taken.append(filled.rows("SELECT * FROM projection_state FOR SHARE NOWAIT"))
        return compare(*arguments)

    monkeypatch.setattr(rebuilder, "compare", looking)
    assert filled.rebuilder().rebuild().swapped
    assert len(taken) == 1


def test_the_rebuilt_model_has_the_same_rows(filled: Rig) -> None:
    before = filled.everything()
    columns = filled.rows("SELECT * FROM pg_indexes WHERE schemaname = 'public' ORDER BY 3")
    steps: list[Progress] = []
    report = filled.rebuilder(progress=steps.append).rebuild()
    assert report.swapped and report.comparison.differing == 0
    assert report.comparison.rows["order_view"] == (len(before[0]), len(before[0]))
    assert filled.everything() == before
    assert list(dict.fromkeys(step.step for step in steps)) == [
        "copying",
        "indexing",
        "comparing",
        "swapping",
    ]
    done = [step.done for step in steps if step.step == "copying"]
    assert done == sorted(done) and done[-1] == report.events
    assert filled.rows("SELECT * FROM pg_indexes WHERE schemaname = 'public' ORDER BY 3") == columns
    _projects_again(filled)


def test_what_cannot_be_projected_is_put_aside_once(filled: Rig) -> None:
    query = "SELECT reason FROM dead_letters"
    assert Counter(filled.rows(query)) == {("not_avro",): 1, ("refused",): 1}
    filled.rebuilder().rebuild()
    assert Counter(filled.rows(query)) == {("not_avro",): 1, ("refused",): 1}
    filled.change("DELETE FROM dead_letters")
    filled.rebuilder().rebuild()
    assert Counter(filled.rows(query)) == {("not_avro",): 1, ("refused",): 1}


def test_a_record_that_a_rule_refuses_is_put_aside_alone(
    filled: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((message_id,),) = filled.rows(
        "SELECT message_id FROM order_timeline WHERE event_type = 'OrderPlaced' ORDER BY 1 LIMIT 1"
    )

    def fold(view: Any, entries: Sequence[TimelineEntry]) -> Any:
        if any(entry.message_id == message_id for entry in entries):
            raise ValueError("no such order")
        return VIEW.fold(view, entries)

    monkeypatch.setattr(rebuild, "PROJECTIONS", (replace(VIEW, fold=fold), *OTHERS))
    report = filled.rebuilder().rebuild()
    live, rebuilt = report.comparison.rows["order_timeline"]
    assert not report.swapped and rebuilt == live - 1
    letters = f"generation_{report.generation.number}.dead_letters"
    query = f"SELECT reason, event_type FROM {letters} WHERE message_id = :m"
    assert filled.rows(query, m=message_id) == [("rule", "OrderPlaced")]


def test_a_falsified_row_is_named_and_blocks_the_swap(filled: Rig) -> None:
    before = filled.everything()
    ((order_id, total),) = filled.rows(
        "SELECT order_id, total FROM order_view WHERE total > 0 ORDER BY 1 LIMIT 1"
    )
    (gone,) = filled.rows("SELECT max(message_id::text) FROM order_timeline")
    filled.change("UPDATE order_view SET total = total + 1 WHERE order_id = :o", o=order_id)
    filled.change("DELETE FROM order_timeline WHERE message_id::text = :m", m=gone[0])
    falsified = filled.everything()

    report = filled.rebuilder().rebuild()
    assert not report.swapped and report.comparison.differing == 2
    found = {one.table: (one.key, one.what) for one in report.comparison.sample}
    assert found["order_view"] == (str(order_id), f"total is {total + 1}, rebuilt {total}")
    key, what = found["order_timeline"]
    assert key.endswith(gone[0]) and what == "only in the rebuilt model"
    assert filled.everything() == falsified
    assert set(generations(filled).values()) == {"current", "ready"}

    assert filled.rebuilder().rebuild(accept=True).swapped
    assert filled.everything() == before


def test_there_is_a_way_back_with_all_events_since(filled: Rig) -> None:
    number = filled.rebuilder().rebuild().generation.number
    filled.produce(many(30, seed=2))
    filled.caught_up()
    before = filled.everything()

    back = filled.rebuilder().rollback()
    assert back.swapped and back.live.number == number
    assert generations(filled) == {back.generation.number: "current", number: "kept"}
    assert filled.everything() == before
    _projects_again(filled)
    again = filled.rebuilder().rollback()
    assert again.generation.number == number
    _projects_again(filled)

    filled.rebuilder().drop()
    with pytest.raises(RebuildRefused, match="nothing to go back to"):
        filled.rebuilder().rollback()


def test_it_can_be_built_first_and_swapped_later(filled: Rig) -> None:
    first = filled.rebuilder().rebuild(swap=False)
    assert not first.swapped and first.comparison.differing == 0
    filled.produce(many(30, seed=3))
    filled.caught_up()
    before = filled.everything()
    second = filled.rebuilder().rebuild()
    assert second.swapped and second.generation.number == first.generation.number
    assert filled.everything() == before


def test_a_model_that_is_moved_back_is_waited_for(filled: Rig) -> None:
    filled.rebuilder().rebuild(swap=False)
    assert control.take(filled.engine, "a replay", timedelta(seconds=60))
    try:
        with pytest.raises(RebuildFailed, match="a replay has paused the model"):
            filled.rebuilder(patience=1).rebuild()
        place = "topic LIKE :t AND partition = 0"
        topic = f"{filled.group}.order.events"
        filled.change(f"UPDATE projection_offsets SET next_offset = 0 WHERE {place}", t=topic)
        with pytest.raises(RebuildFailed, match="is being moved back on"):
            filled.rebuilder(patience=1).rebuild()
    finally:
        control.release(filled.engine, "a replay")
    _projects_again(filled, partition_0=True)
    assert filled.rebuilder().rebuild().swapped


def test_two_rebuilds_at_once_are_refused(filled: Rig) -> None:
    def another(_: Progress) -> None:
        with pytest.raises(RebuildRefused, match="another rebuild is running"):
            filled.rebuilder().rebuild()

    assert filled.rebuilder(progress=another).rebuild().swapped


def test_a_process_that_is_killed_ends_the_others_and_another_run_goes_on(filled: Rig) -> None:
    before = filled.everything()

    def kill_one(now: Progress) -> None:
        if now.done:
            workers()[0].kill()

    with pytest.raises(RebuildFailed, match="a process ended: exit code -9"):
        filled.rebuilder(chunk=20, processes=2, progress=kill_one).rebuild()
    assert not workers() and filled.everything() == before
    assert set(generations(filled).values()) == {"current", "copying"}
    report = filled.rebuilder().rebuild()
    assert report.swapped and report.comparison.differing == 0
    assert filled.everything() == before


def test_what_a_process_gives_up_for_is_told(filled: Rig) -> None:
    def spoil(_: Progress) -> None:
        table = f"generation_{max(generations(filled))}.order_view"
        filled.change(f"ALTER TABLE {table} DROP COLUMN IF EXISTS reason")

    with pytest.raises(RebuildFailed, match='UndefinedColumn: column "reason"'):
        filled.rebuilder(chunk=20, progress=spoil).rebuild()


def test_a_process_whose_parent_has_gone_writes_nothing(
    filled: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.getpid", lambda: 1)
    with pytest.raises(RebuildFailed, match="a process ended: exit code 1"):
        filled.rebuilder(chunk=20).rebuild()
    schema = f"generation_{max(generations(filled))}"
    assert filled.rows(f"SELECT count(*) FROM {schema}.order_timeline") == [(0,)]


def test_a_pause_that_has_run_out_holds_nobody(filled: Rig) -> None:
    """A replay that was killed: its name stays."""
    assert control.take(filled.engine, "a replay that died", timedelta(seconds=-1))
    assert filled.rebuilder(patience=1).rebuild().swapped


def test_a_log_that_was_cut_is_noticed_and_a_replay_sets_the_model_right(filled: Rig) -> None:
    topic = f"{filled.group}.order.events"
    filled.change(
        "UPDATE projection_offsets SET next_offset = next_offset + 1000"
        " WHERE topic = :t AND partition = 0",
        t=topic,
    )
    with pytest.raises(RebuildRefused, match=r"/0 ends before offset .* the log was cut"):
        filled.rebuilder().rebuild()
    assert set(generations(filled).values()) <= {"current", "kept"}
    replayer = filled.replayer()
    replayer.run(replayer.plan([topic], FromBeginning()), lambda _: None)
    assert filled.rebuilder().rebuild().swapped


def test_a_log_that_ends_too_soon_is_not_waited_for(filled: Rig) -> None:
    place = (f"{filled.group}.order.events", 0)
    ((end,),) = filled.rows(
        "SELECT next_offset FROM projection_offsets WHERE topic = :t AND partition = 0", t=place[0]
    )
    with pytest.raises(Unreachable, match=f"ends before offset {end}, and was read up to"):
        list(feed.read(filled.bootstrap, {place: range(0, end + 1)}))


def test_a_generation_from_before_a_migration_is_built_anew_and_never_gone_back_to(
    filled: Rig,
) -> None:
    old = filled.rebuilder().rebuild(swap=False).generation
    filled.change("CREATE INDEX order_view_total ON order_view (total)")
    try:
        report = filled.rebuilder().rebuild()
        assert report.swapped and report.generation.begun_at > old.begun_at
        assert filled.rows("SELECT to_regclass('public.order_view_total') IS NOT NULL") == [(True,)]
        filled.change("DROP INDEX order_view_total")
        with pytest.raises(RebuildRefused, match="from before a migration"):
            filled.rebuilder().rollback()
    finally:
        filled.change("DROP INDEX IF EXISTS order_view_total")


def workers() -> list[psutil.Process]:
    """The processes of a first pass that this one has."""
    children = psutil.Process().children()
    return [child for child in children if child.cmdline()[-1:] == [worker.__name__]]


def test_topics_that_were_made_anew_are_noticed(filled: Rig) -> None:
    filled.rebuilder().rebuild(swap=False)
    number = max(generations(filled))
    filled.change(
        f"UPDATE generation_{number}.generation_offsets"
        " SET next_offset = 1000000, target_offset = 1000001 WHERE partition = 0"
    )
    filled.change("UPDATE generations SET status = 'copying' WHERE status = 'ready'")
    with pytest.raises(RebuildRefused, match="has no offset 1000000 any more"):
        filled.rebuilder().rebuild()


def test_what_a_run_had_indexed_before_it_was_killed_is_not_indexed_again(filled: Rig) -> None:
    before = filled.everything()
    indexes = "SELECT * FROM pg_indexes WHERE schemaname = 'public' ORDER BY 3"
    wanted = filled.rows(indexes)
    filled.rebuilder().rebuild(swap=False)
    schema = f"generation_{max(generations(filled))}"
    filled.change(f"ALTER TABLE {schema}.order_view DROP CONSTRAINT order_view_pkey")
    of_view = f"WHERE schemaname = '{schema}' AND tablename = 'order_view'"
    for (name,) in filled.rows(f"SELECT indexname FROM pg_indexes {of_view}"):
        filled.change(f"DROP INDEX {schema}.{name}")
    filled.change("UPDATE generations SET status = 'copying' WHERE status = 'ready'")
    report = filled.rebuilder().rebuild()
    assert report.swapped and report.comparison.differing == 0
    assert filled.everything() == before
    assert filled.rows(indexes) == wanted


def _projects_again(rig: Rig, partition_0: bool = False) -> None:
    """The agent is alive and writes what is read; with an order on partition 0 if wanted."""
    for _ in range(20 if partition_0 else 1):
        order_id = uuid4()
        rig.produce(story(CONFIRMED, order_id))
    rig.caught_up()
    found = rig.rows("SELECT status FROM order_view WHERE order_id = :o", o=order_id)
    assert found == [("confirmed",)]
