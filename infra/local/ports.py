"""Which part of the stack listens on which port."""

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from infra.local.errors import StackError

PORTS_FILE = Path(__file__).parent.parent / "ports.toml"
HOST = "127.0.0.1"


class Ports(Mapping[str, int]):
    """The port of each part by name."""

    def __init__(self, base: int, offsets: Mapping[str, int]) -> None:
        self.base = base
        self._ports = {name: base + offset for name, offset in offsets.items()}

    def __getitem__(self, name: str) -> int:
        return self._ports[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ports)

    def __len__(self) -> int:
        return len(self._ports)

    def url(self, name: str) -> str:
        """The HTTP address of a part, without a slash at its end."""
        return f"http://{HOST}:{self[name]}"

    def address(self, name: str) -> str:
        """``host:port`` of a part."""
        return f"{HOST}:{self[name]}"


def load(environ: Mapping[str, str] = os.environ, file: Path = PORTS_FILE) -> Ports:
    """The ports of ``infra/ports.toml``, moved to PORT_BASE when that is set.

    Raises StackError when PORT_BASE is no number or leaves no room for a port.
    """
    plan = tomllib.loads(file.read_text())
    given = environ.get("PORT_BASE") or str(plan["base"])
    offsets: dict[str, int] = plan["offsets"]
    highest = 65535 - max(offsets.values())
    if not given.isdecimal() or not 1024 <= int(given) <= highest:
        raise StackError(
            f"PORT_BASE={given} is not a number from 1024 to {highest}",
            "Choose another, for example PORT_BASE=22800.",
        )
    if len(set(offsets.values())) != len(offsets):
        raise StackError(f"{file.name} gives two parts one offset", "Give each its own.")
    return Ports(int(given), offsets)
