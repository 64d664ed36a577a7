"""Where `prometheus` and `promtool` are: named by a variable, on PATH, or Debian's, fetched once.

Building both takes longer than the whole test suite, so they are not built. Debian's package is
signed by its archive, which apt checks; it is unpacked into the cache and installed nowhere.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.local.errors import StackError

VARIABLE = "PROMETHEUS_BIN"
_PACKAGE = "prometheus"
_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Programs:
    """The server and its tool, of one version."""

    prometheus: Path
    promtool: Path

    @property
    def there(self) -> bool:
        """Whether both can be run."""
        return all(os.access(path, os.X_OK) for path in (self.prometheus, self.promtool))


def find(cache: Path, environ: Mapping[str, str] = os.environ) -> Programs | None:
    """The programs, or None where they have to be fetched.

    Raises `StackError` when PROMETHEUS_BIN names nothing that can be run.
    """
    if given := environ.get(VARIABLE):
        programs = _in(Path(given).parent)
        if not programs.there:
            raise StackError(
                f"{VARIABLE}={given} cannot be run, or has no promtool beside it",
                f"Correct {VARIABLE} or remove it.",
            )
        return programs
    path = environ.get("PATH")
    on_path = [shutil.which(name, path=path) for name in ("prometheus", "promtool")]
    if all(on_path):
        return Programs(*(Path(str(found)) for found in on_path))
    cached = _in(_home(cache) / "usr/bin")
    return cached if cached.there else None


def find_or_fetch(cache: Path) -> Programs:
    """The programs, fetched first if need be: seconds, once for all stacks of this cache.

    Raises `StackError` on a machine without apt, or where it gets nothing.
    """
    if found := find(cache):
        return found
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "prometheus-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (found := find(cache)):
            _fetch(cache)
            found = _in(_home(cache) / "usr/bin")
    return found


def _in(folder: Path) -> Programs:
    return Programs(folder / "prometheus", folder / "promtool")


def _home(cache: Path) -> Path:
    return cache / "prometheus"


def _fetch(cache: Path) -> None:
    with tempfile.TemporaryDirectory(dir=cache, prefix="prometheus-") as scratch:
        download = ["apt-get", "download", _PACKAGE]
        if not _run(download, scratch):
            # A machine whose package lists are missing or old; only root may renew them.
            _run(["apt-get", "update"], scratch)
            if not _run(download, scratch):
                raise _cannot("apt-get download did not get it")
        (package,) = Path(scratch).glob("*.deb")
        unpacked = Path(scratch) / "unpacked"
        if not _run(["dpkg-deb", "--extract", str(package), str(unpacked)], scratch):
            raise _cannot("its package could not be unpacked")
        shutil.rmtree(_home(cache), ignore_errors=True)
        unpacked.rename(_home(cache))


def _run(command: list[str], folder: str) -> bool:
    if shutil.which(command[0]) is None:
        raise _cannot(f"there is no {command[0]}")
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=_SECONDS, check=False)
    return done.returncode == 0


def _cannot(why: str) -> StackError:
    return StackError(
        f"there is no Prometheus, and it could not be fetched: {why}",
        f"Install Prometheus, or have {VARIABLE} name its binary with promtool beside it.",
    )
