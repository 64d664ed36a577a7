"""Where a program written in Go is: named by a variable, else on PATH, else built once."""

import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.local.errors import StackError
from infra.local.go_build import build


@dataclass(frozen=True, slots=True)
class GoBinary:
    """A program by its ``name``; ``module`` pins the version of ``package`` that is built.

    ``variable`` names the environment variable that can say where the binary is, ``command`` what
    it is called on PATH.
    """

    name: str
    variable: str
    command: str
    module: Path
    package: str

    def find(self, cache: Path, environ: Mapping[str, str] = os.environ) -> Path | None:
        """The binary to run, or None where one has to be built.

        Raises `StackError` when the variable names nothing that can be run.
        """
        if given := environ.get(self.variable):
            if not os.access(given, os.X_OK):
                raise StackError(
                    f"{self.variable}={given} cannot be run",
                    f"Correct {self.variable} or remove it.",
                )
            return Path(given)
        if on_path := shutil.which(self.command, path=environ.get("PATH")):
            return Path(on_path)
        cached = self.cached(cache)
        return cached if cached.exists() else None

    def find_or_build(self, cache: Path, environ: Mapping[str, str] = os.environ) -> Path:
        """The binary to run, built first if need be: minutes, once for all stacks of this cache.

        A second builder waits for the first. Raises `StackError` when it cannot be built.
        """
        if found := self.find(cache, environ):
            return found
        cached = self.cached(cache)
        folder = cache / f"{self.name}-build"
        with self._only_one(cache):
            if cached.exists():
                return cached
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            try:
                built = build(self.module, self.package, folder, self._teller(cache))
                built.replace(cached)
                self._status_file(cache).unlink(missing_ok=True)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        return cached

    def status(self, cache: Path, environ: Mapping[str, str] = os.environ) -> str:
        """What is happening to the binary, in a few words; nothing when there is one."""
        if self.find(cache, environ):
            return ""
        try:
            said = json.loads(self._status_file(cache).read_text())
        except FileNotFoundError:
            return f"{self.name} is not built yet"
        if said["failed"]:
            return f"{self.name} could not be built: {said['phase']}"
        if not self._is_locked(cache):
            return f"{self.name} was not built: it was stopped while {said['phase']}"
        minutes = (time.time() - said["since"]) / 60
        return f"building {self.name}: {said['phase']}, {minutes:.0f} min so far"

    def report_failure(self, cache: Path, problem: str) -> None:
        """Has `status` tell why there is no binary."""
        self._write_status(cache, {"phase": problem, "since": time.time(), "failed": True})

    def cached(self, cache: Path) -> Path:
        """Where the built binary is kept: another place for each pinned version."""
        pinned = (self.module / "go.mod").read_bytes() + (self.module / "go.sum").read_bytes()
        return cache / f"{self.name}-{hashlib.sha256(pinned).hexdigest()[:12]}"

    def _teller(self, cache: Path) -> Callable[[str], None]:
        since = time.time()

        def tell(phase: str) -> None:
            self._write_status(cache, {"phase": phase, "since": since, "failed": False})

        return tell

    def _write_status(self, cache: Path, said: Mapping[str, object]) -> None:
        draft = self._status_file(cache).with_suffix(".new")
        draft.write_text(json.dumps(said))
        draft.replace(self._status_file(cache))

    def _status_file(self, cache: Path) -> Path:
        return cache / f"{self.name}-status.json"

    @contextmanager
    def _only_one(self, cache: Path) -> Iterator[None]:
        with (cache / f"{self.name}-lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _is_locked(self, cache: Path) -> bool:
        with (cache / f"{self.name}-lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False
