"""Docker Compose: the engine's own plugin, else built from its pinned Go module."""

import json
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from infra.local import layout
from infra.local.go_binary import GoBinary
from infra.local.layout import ROOT

COMPOSE = GoBinary(
    name="docker-compose",
    variable="DOCKER_COMPOSE_BIN",
    command="docker-compose-v2",
    module=Path(__file__).parent / "module",
    package="github.com/docker/compose/v2/cmd",
)
# BuildKit, and the one that is built in.
BUILD = {"DOCKER_BUILDKIT": "1", "COMPOSE_BAKE": "false", "BUILDKIT_PROGRESS": "plain"}


@cache
def command() -> tuple[str, ...]:
    """What to put before a command of Compose. Builds it for minutes, once, where it is missing."""
    plugin = ("docker", "compose")
    try:
        subprocess.run([*plugin, "version"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        cached = layout.load().cache
        cached.mkdir(parents=True, exist_ok=True)
        return (str(COMPOSE.find_or_build(cached)),)
    return plugin


def described(environment: Mapping[str, str], *profiles: str) -> dict[str, Any]:
    """docker-compose.yml as Compose understands it, with these profiles; needs no engine.

    Raises CalledProcessError with what Compose says is wrong.
    """
    options = [f"--profile={profile}" for profile in profiles]
    done = subprocess.run(
        [*command(), *options, "config", "--format=json"],
        check=True,
        cwd=ROOT,
        env=dict(environment),
        capture_output=True,
        text=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found
