"""How long after a disturbance everything works again."""

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from infra.local.ready import Check
from tests.chaos.client import Client
from tests.chaos.endings import Endings
from tests.chaos.schedule import PROCESSES, Action


@dataclass
class Recovery:
    """One action's recovery: its process is ready, and an order sent afterwards is confirmed.

    ``since`` is the moment from which it could recover; times are seconds of this clock. After a
    disturbed connection every process has to be ready.
    """

    action: Action
    since: float
    ready_at: float | None = None
    confirmed_at: float | None = None

    @property
    def done(self) -> bool:
        """Whether everything works again."""
        return self.ready_at is not None and self.confirmed_at is not None

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it has not recovered."""
        if self.ready_at is None or self.confirmed_at is None:
            return None
        return max(self.ready_at, self.confirmed_at) - self.since

    def after(self, moment: float | None) -> float | None:
        """Seconds from the disturbance to that moment."""
        return None if moment is None else round(moment - self.since, 1)

    def look(self, checks: Mapping[str, Check], client: Client, endings: Endings) -> None:
        """Note what has become true since the last look."""
        if self.ready_at is None and not _waiting(self._processes(), checks):
            self.ready_at = time.time()
        if self.confirmed_at is None:
            later = client.accepted_since(self.since)
            seen = [endings.confirmed.get(order.order_id) for order in later]
            self.confirmed_at = min((moment for moment in seen if moment), default=None)

    def _processes(self) -> tuple[str, ...]:
        return PROCESSES if self.is_connection else (self.action.target,)

    @property
    def is_connection(self) -> bool:
        """Whether a connection was disturbed, not a process."""
        return self.action.kind in ("cut", "delay", "silence")


def _waiting(names: tuple[str, ...], checks: Mapping[str, Check]) -> list[str]:
    with ThreadPoolExecutor(len(names)) as pool:
        why = dict(zip(names, pool.map(lambda name: checks[name](), names), strict=True))
    return [name for name in names if why[name]]
