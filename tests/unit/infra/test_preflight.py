import os
import socket

import pytest

from infra.local.errors import StackError
from infra.local.ports import HOST, Ports
from infra.local.preflight import check_ports


def test_a_taken_port_is_named_with_its_part_and_owner() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(StackError, match=rf"port {port} \(kafka\).*pid {os.getpid()}"):
            check_ports(Ports(port, {"kafka": 0}))


def test_a_port_that_was_used_a_moment_ago_is_free() -> None:
    with socket.socket() as server, socket.socket() as client:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        server.bind((HOST, 0))
        server.listen()
        port = server.getsockname()[1]
        client.connect((HOST, port))
        server.accept()[0].close()
    check_ports(Ports(port, {"kafka": 0}))
