"""Refuses to start where it cannot work, and says why."""

import socket

import psutil

from infra.local.errors import StackError
from infra.local.ports import HOST, Ports


def check_ports(ports: Ports) -> None:
    """Raises StackError naming each port that is taken and who has it."""
    taken = [(name, port) for name, port in ports.items() if not _free(port)]
    if not taken:
        return
    lines = [f"port {port} ({name}) is taken by {_owner(port)}" for name, port in taken]
    other = ports.base + 1000 if ports.base < 60000 else ports.base - 1000
    raise StackError(
        "\n".join(lines), f"Stop that, or choose other ports: PORT_BASE={other} make up"
    )


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    # Where a listener on all addresses would not have stopped the bind, it answers.
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex((HOST, port)) != 0


def _owner(port: int) -> str:
    try:
        connections = psutil.net_connections("tcp")
    except psutil.AccessDenied:
        return "another process (root could see which)"
    pids = [c.pid for c in connections if c.laddr and c.laddr.port == port and c.pid]
    if not pids:
        return "a process of another user"
    try:
        return f"{psutil.Process(pids[0]).name()} (pid {pids[0]})"
    except psutil.NoSuchProcess:
        return f"a process that has just ended (pid {pids[0]})"
