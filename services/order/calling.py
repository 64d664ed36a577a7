"""One call of a webhook: it ends in time and reads no body, whatever the receiver does.

A timeout of a socket counts from byte to byte, so a receiver that sends one now and then would hold
a worker for ever. Here every operation has what is left of the whole call, at most.
"""

import ssl
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import httpcore
import httpx

from services.order import targets

WAITS: Final = 3
"""To connect, to send and to hear: a call takes so many times the timeout, at most."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a receiver said; its body is not read."""

    status: int
    retry_after: str | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """Calls receivers. ``timeout`` is the longest wait for each part, in seconds.

    Every call has a connection of its own: the next one may have to be refused. There is neither a
    proxy, which would resolve names itself, nor a jar of cookies.
    """

    private_allowed: bool
    timeout: float
    context: ssl.SSLContext = field(
        default_factory=lambda: httpx.create_ssl_context(trust_env=False)
    )

    def post(self, url: str, content: str, headers: dict[str, str]) -> Answer:
        """Sends to the address that was checked; redirects are not followed.

        Raises `targets.Forbidden`, OSError, and what httpcore raises.
        """
        backend = _Within(time.monotonic() + WAITS * self.timeout)
        target = httpx.URL(url)
        address = targets.resolved(target, self.private_allowed)
        there = httpcore.URL(
            scheme=target.raw_scheme,
            host=address.encode(),
            port=target.port,
            target=target.raw_path,
        )
        waits = dict.fromkeys(("connect", "write", "read"), self.timeout)
        with (
            httpcore.HTTPConnection(
                there.origin, ssl_context=self.context, network_backend=backend
            ) as connection,
            connection.stream(
                "POST",
                there,
                headers=[("Host", target.netloc.decode()), *headers.items()],
                content=content.encode(),
                extensions={"timeout": waits, "sni_hostname": target.raw_host.decode()},
            ) as response,
        ):
            return Answer(response.status, _header(response, b"retry-after"))


class _Within(httpcore.NetworkBackend):
    """Connections that end at a moment of the monotonic clock."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._sockets = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        left = _left(self._deadline, timeout)
        stream = self._sockets.connect_tcp(host, port, left, local_address, socket_options)
        return _Stream(stream, self._deadline)


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(self._deadline, timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(self._deadline, timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = _left(self._deadline, timeout)
        secured = self._stream.start_tls(ssl_context, server_hostname, left)
        return _Stream(secured, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(deadline: float, timeout: float | None) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("the whole call took too long")
    return left if timeout is None else min(timeout, left)


def _header(response: httpcore.Response, wanted: bytes) -> str | None:
    values = (value for name, value in response.headers if name.lower() == wanted)
    return next((value.decode("latin-1") for value in values), None)
