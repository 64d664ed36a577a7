"""A reader of server-sent events, as careful as a browser."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

TIMEOUT = httpx.Timeout(60.0, connect=10.0)


@dataclass(frozen=True, slots=True)
class Told:
    """One event; ``id`` is the last one seen, ``name`` is ``heartbeat`` for a comment."""

    id: str
    name: str
    data: Any


class Stream:
    """An open stream; ``last_id`` is what a client would come back with."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.last_id = ""
        self._events = self._read()

    def next(self, *, heartbeats: bool = False) -> Told:
        """The next event; StopIteration where the stream has ended."""
        while True:
            told = next(self._events)
            if heartbeats or told.name != "heartbeat":
                return told

    def rest(self) -> list[Told]:
        """All events until the stream ends."""
        return [told for told in self._events if told.name != "heartbeat"]

    def _read(self) -> Iterator[Told]:
        name, data = "message", ""
        for line in self.response.iter_lines():
            field, _, value = line.partition(": ")
            if line.startswith(":"):
                yield Told(self.last_id, "heartbeat", None)
            elif field == "id":
                self.last_id = value
            elif field == "event":
                name = value
            elif field == "data":
                data += value
            elif not line:
                if data:
                    yield Told(self.last_id, name, json.loads(data))
                name, data = "message", ""


@contextmanager
def follow(url: str, last_id: str | None = None, key: str = "") -> Iterator[Stream]:
    """An open stream, which is dropped at the end of the block."""
    headers = {"Last-Event-ID": last_id} if last_id is not None else {}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    with httpx.stream("GET", url, headers=headers, timeout=TIMEOUT) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield Stream(response)
