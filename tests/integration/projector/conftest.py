"""The rig that a module's tests share: each test brings orders of its own."""

from collections.abc import Iterator

import pytest

from tests.integration.projector.rig import Rig
from tests.integration.projector.rig import rig as make_rig
from tests.live_stack import Ground


@pytest.fixture(scope="module")
def rig(ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """A projector of its own, started."""
    with make_rig(ground, tmp_path_factory.mktemp("rig") / "agent.log") as made:
        made.start()
        yield made
