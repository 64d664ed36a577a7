"""The histories find each bug that is planted: they would find it in the services too."""

import pytest

from tests.property.flaws import FLAWS, Flaw
from tests.property.machine import History
from tests.property.model.checks import Violation
from tests.property.play import HISTORIES, play


@pytest.mark.parametrize("flaw", FLAWS, ids=lambda flaw: flaw.name)
def test_a_planted_bug_is_found(flaw: Flaw, capsys: pytest.CaptureFixture[str]) -> None:
    played = 0

    class Flawed(History):
        parts = flaw.parts

        def teardown(self) -> None:
            nonlocal played
            played += 1
            super().teardown()

    with pytest.raises(Violation) as found:
        # Which histories are played depends on what else is loaded (Hypothesis takes constants from
        # it), so a bug is given more of them than the rules are.
        play(Flawed, 4 * HISTORIES)
    with capsys.disabled():
        print(f"\n{flaw.name}: found in history {played - 1}: {found.value}")
    assert found.value.check in flaw.breaks
