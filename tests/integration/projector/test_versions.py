"""Two versions side by side: the newer one waits for its model, the swap hands over, and back."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from services.eventkit.rebuild.model import RebuildRefused
from services.eventkit.rebuild.rebuilder import Rebuilder
from services.projector import projections
from services.projector.rebuild import OrderModel
from tests.integration.projector.rig import READY_WITHIN, Rig, free_port, wait_for
from tests.integration.projector.traffic import many, story
from tests.unit.projector.stories import CONFIRMED

NEXT = projections.VERSION + 1
NEWER_CODE = f"""
import sys
from services.projector import process, projections
projections.VERSION = {NEXT}
sys.exit(process.main())
"""


@dataclass(frozen=True, slots=True)
class NextModel(OrderModel):
    """The read model of the next release."""

    @property
    def version(self) -> int:
        return NEXT


@pytest.fixture
def newer(rig: Rig, tmp_path: Path) -> Iterator[str]:
    """An agent of the next release beside the rig's own; where its health is told."""
    port = free_port()
    environment = {**os.environ, **rig.environment, "SAGA_HTTP_PORT": str(port)}
    with (tmp_path / "newer.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", NEWER_CODE], env=environment, stdout=log, stderr=log
        )
    yield f"http://127.0.0.1:{port}/health/ready"
    process.send_signal(signal.SIGKILL)
    process.wait()


def why_not(url: str) -> str:
    """Why an agent is not ready; empty where it is."""
    try:
        answer = httpx.get(url, timeout=5).json()
    except httpx.HTTPError as error:
        return str(error)
    return str(answer["reasons"].get("agent", ""))


def test_versions_change_places(rig: Rig, newer: str) -> None:
    older = f"http://127.0.0.1:{rig.port}/health/ready"
    rig.produce(many(50))
    behind = f"version {projections.VERSION}, this code of version {NEXT}: orderctl replay --shadow"
    wait_for(lambda: behind in why_not(newer), READY_WITHIN, "the newer one to offer a rebuild")
    projects(rig)
    assert why_not(older) == ""

    model = NextModel(rig.environment["SAGA_REGISTRY_URL"], tuple(rig.topics))
    report = Rebuilder(model, rig.url, rig.bootstrap).rebuild()
    assert (report.swapped, report.live.version, report.generation.version) == (
        True, projections.VERSION, NEXT
    )  # fmt: skip
    ahead = (
        f"version {NEXT}, this code of version {projections.VERSION}: orderctl replay --rollback"
    )
    wait_for(lambda: why_not(newer) == "", READY_WITHIN, "the newer one to take over")
    wait_for(lambda: ahead in why_not(older), READY_WITHIN, "the older one to leave")
    projects(rig)

    with pytest.raises(RebuildRefused, match="go back with the release of then"):
        Rebuilder(model, rig.url, rig.bootstrap).rollback()
    assert rig.rebuilder().rollback().swapped
    wait_for(lambda: why_not(older) == "", READY_WITHIN, "the older one to take over again")
    wait_for(lambda: behind in why_not(newer), READY_WITHIN, "the newer one to wait again")
    projects(rig)
    assert rig.rebuilder().rebuild().comparison.differing == 0


def projects(rig: Rig) -> None:
    """Whoever may write does."""
    order_id = uuid4()
    rig.produce(story(CONFIRMED, order_id))
    rig.caught_up()
    found = rig.rows("SELECT status FROM order_view WHERE order_id = :o", o=order_id)
    assert found == [("confirmed",)]
