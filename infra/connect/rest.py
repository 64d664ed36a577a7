"""The few calls of Kafka Connect's REST API that are needed here."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import requests

from infra.local.errors import StackError

_TIMEOUT_S = 10
_CAUSE = "Caused by: "
# A worker that is not ready says these: it has not joined its group, or is rebalancing.
_NOT_YET = (requests.codes.not_found, requests.codes.conflict)


class NotYet(Exception):
    """Something has not come true yet; ask again."""


@dataclass(frozen=True, slots=True)
class Connect:
    """A Connect worker by its REST address, without a slash at its end."""

    url: str

    def config_of(self, name: str) -> dict[str, str] | None:
        """A connector's configuration; None when there is no such connector."""
        answer = requests.get(f"{self.url}/connectors/{name}/config", timeout=_TIMEOUT_S)
        if answer.status_code == requests.codes.not_found:
            return None
        answer.raise_for_status()
        return dict(answer.json())

    def put_config(self, name: str, config: Mapping[str, str]) -> None:
        """Creates or changes a connector. Raises `StackError` when the configuration is refused."""
        answer = requests.put(
            f"{self.url}/connectors/{name}/config", json=config, timeout=6 * _TIMEOUT_S
        )
        if answer.status_code in _NOT_YET or answer.status_code >= 500:
            raise NotYet(f"Connect answers {answer.status_code} for {name}")
        if not answer.ok:
            raise StackError(
                f"Connect refused {name}: {_message(answer)}", "Look at infra/connect/outbox.json."
            )

    def states(self, name: str) -> list[tuple[str, str]]:
        """State and error text of the connector and then of its tasks; empty if unknown."""
        answer = requests.get(f"{self.url}/connectors/{name}/status", timeout=_TIMEOUT_S)
        if not answer.ok:
            return []
        status = answer.json()
        return [state_and_cause(part) for part in (status["connector"], *status["tasks"])]

    def resume(self, name: str) -> None:
        """Lets a connector go on that a person has paused or stopped."""
        requests.put(f"{self.url}/connectors/{name}/resume", timeout=_TIMEOUT_S)

    def stop(self, name: str) -> None:
        """Ends a connector's tasks until it is resumed."""
        requests.put(f"{self.url}/connectors/{name}/stop", timeout=_TIMEOUT_S).raise_for_status()

    def delete(self, name: str) -> None:
        """Removes a connector; how far it has read stays stored under its name."""
        answer = requests.delete(f"{self.url}/connectors/{name}", timeout=6 * _TIMEOUT_S)
        if answer.status_code in _NOT_YET or answer.status_code >= 500:
            raise NotYet(f"Connect answers {answer.status_code} for {name}")
        answer.raise_for_status()

    def has_offsets(self, name: str) -> bool:
        """Whether Connect has stored how far a connector has read."""
        answer = requests.get(f"{self.url}/connectors/{name}/offsets", timeout=_TIMEOUT_S)
        return answer.ok and bool(answer.json()["offsets"])

    def forget_offsets(self, name: str) -> None:
        """Deletes how far a stopped connector has read."""
        answer = requests.delete(f"{self.url}/connectors/{name}/offsets", timeout=_TIMEOUT_S)
        if not answer.ok:
            raise NotYet(f"Connect answers {answer.status_code} for {name}: {_message(answer)}")

    def restart_failed(self, name: str) -> None:
        """Restarts what of a connector has failed, and nothing else."""
        requests.post(
            f"{self.url}/connectors/{name}/restart",
            params={"includeTasks": "true", "onlyFailed": "true"},
            timeout=_TIMEOUT_S,
        )


def state_and_cause(part: Mapping[str, str]) -> tuple[str, str]:
    """A connector's or task's state, and the root of its failure: the trace's last cause."""
    lines = part.get("trace", "").splitlines()
    errors = lines[:1] + [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE)]
    return part["state"], errors[-1] if errors else ""


def _message(answer: requests.Response) -> str:
    try:
        return str(answer.json()["message"])[:500]
    except (json.JSONDecodeError, KeyError, requests.JSONDecodeError):
        return f"{answer.status_code} {answer.text[:300]}"
