"""Where output goes: results to stdout, remarks to stderr; colour only on a terminal."""

import json
from typing import Any

from rich.console import Console

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """Write one JSON document to stdout; dates become ISO text."""
    out.print(json.dumps(value, indent=2, default=str), markup=False, soft_wrap=True)


def note(message: str) -> None:
    """Write a remark to stderr, so that it never mixes with a result that is piped on."""
    err.print(message, style="dim", markup=False)
