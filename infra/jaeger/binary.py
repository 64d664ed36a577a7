"""Where the Jaeger binary is: JAEGER_BIN, else `jaeger` on PATH, else built once into the cache."""

import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from infra.jaeger.build import MODULE, build
from infra.local.errors import StackError


def find(cache: Path, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The binary to run, or None where one has to be built.

    Raises `StackError` when JAEGER_BIN names nothing that can be run.
    """
    if given := environ.get("JAEGER_BIN"):
        if not os.access(given, os.X_OK):
            raise StackError(
                f"JAEGER_BIN={given} cannot be run", "Correct JAEGER_BIN or remove it."
            )
        return Path(given)
    if on_path := shutil.which("jaeger", path=environ.get("PATH")):
        return Path(on_path)
    cached = cached_binary(cache)
    return cached if cached.exists() else None


def find_or_build(cache: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """The binary to run, built first if need be: minutes, once for all stacks of this cache.

    A second builder waits for the first. Raises `StackError` when it cannot be built.
    """
    if found := find(cache, environ):
        return found
    cached = cached_binary(cache)
    folder = cache / "jaeger-build"
    with _only_one(cache):
        if cached.exists():
            return cached
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            build(folder, _teller(cache)).replace(cached)
            _status_file(cache).unlink(missing_ok=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return cached


def status(cache: Path, environ: Mapping[str, str] = os.environ) -> str:
    """What is happening to the binary, in a few words; nothing when there is one."""
    if find(cache, environ):
        return ""
    try:
        said = json.loads(_status_file(cache).read_text())
    except FileNotFoundError:
        return "jaeger is not built yet"
    if said["failed"]:
        return f"jaeger could not be built: {said['phase']}"
    if not _is_locked(cache):
        return f"jaeger was not built: it was stopped while {said['phase']}"
    minutes = (time.time() - said["since"]) / 60
    return f"building jaeger: {said['phase']}, {minutes:.0f} min so far"


def report_failure(cache: Path, problem: str) -> None:
    """Has `status` tell why there is no binary."""
    _write_status(cache, {"phase": problem, "since": time.time(), "failed": True})


def cached_binary(cache: Path) -> Path:
    """Where the built binary is kept: another place for each pinned version."""
    pinned = (MODULE / "go.mod").read_bytes() + (MODULE / "go.sum").read_bytes()
    return cache / f"jaeger-{hashlib.sha256(pinned).hexdigest()[:12]}"


def _teller(cache: Path) -> Callable[[str], None]:
    since = time.time()
    return lambda phase: _write_status(cache, {"phase": phase, "since": since, "failed": False})


def _write_status(cache: Path, said: Mapping[str, object]) -> None:
    draft = _status_file(cache).with_suffix(".new")
    draft.write_text(json.dumps(said))
    draft.replace(_status_file(cache))


def _status_file(cache: Path) -> Path:
    return cache / "jaeger-status.json"


@contextmanager
def _only_one(cache: Path) -> Iterator[None]:
    with (cache / "jaeger-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _is_locked(cache: Path) -> bool:
    with (cache / "jaeger-lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
