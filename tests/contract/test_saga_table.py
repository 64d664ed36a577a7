"""docs/saga.md says what the handler tables say."""

import pytest

from docs.generate_saga import PATHS, TARGET, Step, UntrueStep, load_tables, render


def test_the_page_is_up_to_date() -> None:
    assert TARGET.read_text() == render(load_tables()), "run: python -m docs.generate_saga"


def test_a_path_cannot_tell_what_no_rule_does(monkeypatch: pytest.MonkeyPatch) -> None:
    untrue = Step("inventory", "OrderPlaced", ("PaymentCaptured",))
    monkeypatch.setitem(PATHS, "made up", (untrue,))
    with pytest.raises(UntrueStep, match="OrderPlaced"):
        render(load_tables())


def test_every_step_of_a_path_follows_from_an_earlier_one() -> None:
    tables = load_tables()
    for steps in PATHS.values():
        known: set[str] = set()
        for step in steps:
            source = tables[step.service][step.input].source
            cause = step.input.rpartition(".")[0] if source == "job" else step.input
            assert source == "api" or cause in known, step
            known |= set(step.outputs)
