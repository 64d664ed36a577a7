"""Receivers that never come to an end: a call ends in time and keeps nothing of them."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpcore
import pytest

from services.order.calling import WAITS, Answer, Caller

TIMEOUT = 0.3
DRIP = 0.02
LATE = 1.0
"""What a busy machine may add."""
CALLER = Caller(private_allowed=True, timeout=TIMEOUT)

Talk = Callable[[socket.socket], None]


@contextmanager
def receiver(talk: Talk, scheme: str = "http") -> Iterator[str]:
    """A server that does what it likes with a connection; where it is."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                try:
                    talk(connection)
                except OSError:
                    """The other side has had enough."""

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"{scheme}://127.0.0.1:{server.getsockname()[1]}/hook"
    thread.join(10)
    assert not thread.is_alive(), "the connection was not closed"


def asked(connection: socket.socket) -> None:
    """Waits for the whole request."""
    got = b""
    while not got.endswith(b"\r\n\r\n{}"):
        got += connection.recv(4096)


def dripping(start: bytes, piece: bytes) -> Talk:
    """After the request and ``start`` a piece comes now and then, for ever."""

    def talk(connection: socket.socket) -> None:
        asked(connection)
        connection.sendall(start)
        while True:
            connection.sendall(piece)
            time.sleep(DRIP)

    return talk


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x"),
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    ],
)
def test_headers_that_drip_end_with_the_whole_call(start: bytes, piece: bytes) -> None:
    with receiver(dripping(start, piece)) as url:
        began = time.monotonic()
        with pytest.raises(httpcore.TimeoutException):
            CALLER.post(url, "{}", {})
        assert time.monotonic() - began < WAITS * TIMEOUT + LATE


def test_a_handshake_that_drips_ends_too() -> None:
    def talk(connection: socket.socket) -> None:
        connection.sendall(b"\x16\x03\x03\x40\x00")  # a record of 16 KB that does not come
        while True:
            connection.sendall(b"\x02")
            time.sleep(DRIP)

    with receiver(talk, "https") as url:
        began = time.monotonic()
        with pytest.raises(httpcore.TimeoutException):
            CALLER.post(url, "{}", {})
        assert time.monotonic() - began < WAITS * TIMEOUT + LATE


def test_a_receiver_that_says_nothing_has_the_timeout_of_one_part() -> None:
    caller = Caller(private_allowed=True, timeout=LATE)
    with receiver(lambda connection: time.sleep(WAITS * LATE)) as url:
        began = time.monotonic()
        with pytest.raises(httpcore.ReadTimeout):
            caller.post(url, "{}", {})
        assert LATE <= time.monotonic() - began < WAITS * LATE


def test_a_body_that_drips_is_not_waited_for() -> None:
    talk = dripping(b"HTTP/1.1 503 Busy\r\nRetry-After: 9\r\nContent-Length: 999\r\n\r\n", b"x")
    with receiver(talk) as url:
        began = time.monotonic()
        assert CALLER.post(url, "{}", {}) == Answer(503, "9")
        assert time.monotonic() - began < LATE


def test_a_large_body_is_not_taken() -> None:
    whole, sent = 50_000_000, 0

    def talk(connection: socket.socket) -> None:
        nonlocal sent
        asked(connection)
        head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {whole}\r\n\r\n"
        connection.sendall(head.encode())
        while sent < whole:
            sent += connection.send(bytes(65_536))

    with receiver(talk) as url:
        assert CALLER.post(url, "{}", {}) == Answer(200)
    assert sent < whole / 2, "only what the buffers of the connection take leaves the receiver"
