"""Runs orderctl as a user does: as a command of its own, against the stack of the tests."""

import json
import subprocess
import sys
from typing import Any


def orderctl(*args: str, seconds: float = 240) -> subprocess.CompletedProcess[str]:
    """The finished command; SAGA_ENV_FILE of the test stack is in the environment."""
    command = [sys.executable, "-m", "services.orderctl", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)


def orderctl_json(*args: str, seconds: float = 240) -> Any:
    """What the command printed as JSON; fails where it did not end with 0 or 1."""
    done = orderctl(*args, "--json", seconds=seconds)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def problems() -> set[tuple[str, str]]:
    """Every (check, problem) that verify finds now."""
    results = orderctl_json("verify", "--wait", "60")
    return {(result["check"], problem) for result in results for problem in result["problems"]}
