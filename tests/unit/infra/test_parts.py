import threading

import pytest

from infra.local.parts import Part, PartFailed, run


class Diary:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def began(self, name: str) -> None:
        self.lines.append(f"{name} began")

    def ended(self, name: str, seconds: float, words: str) -> None:
        self.lines.append(f"{name} {words}")

    def failed(self, name: str, seconds: float, error: BaseException) -> None:
        self.lines.append(f"{name} failed: {error}")


def _fails() -> str:
    raise OSError("no such disk")


def test_a_part_begins_when_all_it_needs_is_done() -> None:
    diary = Diary()
    run(
        [
            Part("service", lambda: "ready", ("database", "topics")),
            Part("database", lambda: "ready"),
            Part("topics", lambda: "made", ("database",)),
        ],
        diary,
    )
    assert diary.lines == [
        "database began", "database ready", "topics began", "topics made",
        "service began", "service ready",
    ]  # fmt: skip


def test_parts_that_do_not_need_each_other_run_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=10)

    def meet() -> str:
        both.wait()
        return "met"

    run([Part("one", meet), Part("other", meet)], Diary())


def test_after_a_failure_nothing_else_begins_and_the_cause_is_kept() -> None:
    diary = Diary()
    with pytest.raises(PartFailed) as caught:
        run([Part("disk", _fails), Part("database", lambda: "ready", ("disk",))], diary)
    assert caught.value.name == "disk"
    assert str(caught.value.__cause__) == "no such disk"
    assert diary.lines == ["disk began", "disk failed: no such disk"]


def test_parts_that_wait_for_each_other_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="wait for each other"):
        run([Part("a", str, ("b",)), Part("b", str, ("a",))], Diary())
