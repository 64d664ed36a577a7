"""A stack for one campaign: its own ports and state, its connections through Toxiproxy."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from unittest.mock import patch

from infra.local import layout, lifecycle
from tests.live_stack import LiveStack

PORT_BASE = "23800"
STATE_DIR = ".state-chaos"


@contextmanager
def own_stack(keep: bool = False) -> Iterator[LiveStack]:
    """A fresh stack, stopped at the end unless it is to be kept; its data stays until the next.

    CHAOS_PORT_BASE and CHAOS_STATE_DIR move it.
    """
    settings = {
        "PORT_BASE": os.environ.get("CHAOS_PORT_BASE", PORT_BASE),
        "SAGA_STATE_DIR": os.environ.get("CHAOS_STATE_DIR", STATE_DIR),
        "SAGA_PROXIED": "1",
    }
    # What the stack says of itself is no part of the verdict, which others may want to read.
    with patch.dict(os.environ, settings), redirect_stdout(sys.stderr):
        os.environ["SAGA_ENV_FILE"] = str(layout.load().orderctl_env)
        lifecycle.purge()
        try:
            yield LiveStack(lifecycle.up())
        finally:
            if not keep:
                lifecycle.down()
