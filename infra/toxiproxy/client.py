"""Disturbs the connections that go through Toxiproxy, over its HTTP API."""

from typing import Any

import httpx

SECONDS = 10.0


class Toxiproxy:
    """A running Toxiproxy; connections go by the names in `infra.toxiproxy.proxies.FRONTS`."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=SECONDS, trust_env=False)

    def cut(self, connection: str) -> None:
        """Close what is open and refuse what is new, until `restore`."""
        self._call("POST", f"/proxies/{connection}", {"enabled": False})

    def delay(self, connection: str, milliseconds: int) -> None:
        """Answers take that much longer, give or take a quarter, until `restore`."""
        latency = {"latency": milliseconds, "jitter": milliseconds // 4}
        self._add(connection, "latency", latency)

    def silence(self, connection: str) -> None:
        """Nothing arrives any more and nothing is closed; `restore` closes what was open."""
        self._add(connection, "timeout", {"timeout": 0})

    def restore(self) -> None:
        """All connections are as they should be."""
        self._call("POST", "/reset")

    def _add(self, connection: str, kind: str, attributes: dict[str, int]) -> None:
        toxic = {"type": kind, "stream": "downstream", "attributes": attributes}
        self._call("POST", f"/proxies/{connection}/toxics", toxic)

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> None:
        self._http.request(method, path, json=body).raise_for_status()
