"""Downloads the pinned Java artifacts once and lays them out in the cache.

``python -m infra.local.fetch PART FOLDER`` does so for one distribution: a container's build.
jgo is asked for exact files only: its own dependency resolution picks other versions than Maven.
"""

import fcntl
import hashlib
import shutil
import sys
import tarfile
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import tenacity

from infra.local.background import Background
from infra.local.errors import StackError
from infra.local.jars import Jar, fingerprint, read_lock

AT_ONCE = 8
ATTEMPTS = 4
SCRATCH = ".fetch-"
Report = Callable[[str], None]


class ChecksumMismatch(Exception):
    """A downloaded file is not the one that was pinned."""


@dataclass(frozen=True, slots=True)
class Distributions:
    """Where the unpacked Java programs are."""

    kafka_libs: Path
    connect_plugins: Path
    registry: Path


def ensure(cache: Path, report: Report) -> Distributions:
    """Fetch what the cache lacks, check every file's sha256, unpack; ``report`` gets progress.

    Raises StackError when a file cannot be had or is not the pinned one.
    """
    by_part: dict[str, list[Jar]] = {}
    for jar in read_lock():
        by_part.setdefault(jar.part, []).append(jar)
    homes = {part: cache / f"{part}-{fingerprint(jars)}" for part, jars in by_part.items()}
    missing = {part: jars for part, jars in by_part.items() if not homes[part].exists()}
    if missing:
        with _only_one(cache / "lock", report):
            _fetch({homes[part]: jars for part, jars in missing.items()}, report)
    return Distributions(homes["kafka"], homes["debezium"], homes["apicurio"])


def fetch_part(part: str, home: Path, report: Report) -> None:
    """One distribution of infra/jars.lock, in a folder that does not exist. Raises StackError."""
    _fetch({home: [jar for jar in read_lock() if jar.part == part]}, report)


def _fetch(wanted: dict[Path, list[Jar]], report: Report) -> None:
    wanted = {home: jars for home, jars in wanted.items() if not home.exists()}
    drafts = {home: home.with_name(home.name + ".part") for home in wanted}
    tasks = [(jar, _folder(jar, drafts[home])) for home, jars in wanted.items() for jar in jars]
    _download_all(tasks, report)
    for draft in drafts.values():
        # What an interrupted download left would end up in a class path.
        for scratch in draft.rglob(f"{SCRATCH}*"):
            shutil.rmtree(scratch)
    for home, jars in wanted.items():
        for jar in jars:
            if jar.extension == "tar.gz":
                report(f"unpacking {jar.filename}")
                _unpack(_folder(jar, drafts[home]) / jar.filename)
        drafts[home].rename(home)


def _folder(jar: Jar, home: Path) -> Path:
    # Connect looks for one folder a plugin inside its plugin path.
    return home / "debezium-postgres" if jar.part == "debezium" else home


class Tally:
    """Counts what has arrived, from several threads, and tells it."""

    def __init__(self, files: int, report: Report) -> None:
        self._files, self._report = files, report
        self._done = self._size = 0
        self._lock = threading.Lock()

    def add(self, size: int) -> None:
        """So many bytes more."""
        with self._lock:
            self._size += size
            self._report(f"{self._done} of {self._files} files, {self._size / 1e6:.0f} MB")

    def finish_file(self) -> None:
        """One file more."""
        with self._lock:
            self._done += 1

    @contextmanager
    def following(self, _name: str, _size: int) -> Iterator[Callable[[int], None]]:
        """What jgo asks for to tell how a download comes along."""
        yield self.add


def _download_all(tasks: Sequence[tuple[Jar, Path]], report: Report) -> None:
    tally = Tally(len(tasks), report)
    jars = {str(folder / jar.filename): jar for jar, folder in tasks}
    background: Background[None] = Background(AT_ONCE)
    for name, jar in jars.items():
        background.start(name, partial(_download, jar, Path(name), tally))
    for _ in jars:
        name, error = background.next()
        if isinstance(error, BaseException):
            raise _explained(jars[name], error) from error


def _explained(jar: Jar, error: BaseException) -> StackError:
    if isinstance(error, ChecksumMismatch):
        return StackError(
            f"{jar.filename} is not the file that infra/jars.lock pins: {error}",
            "Find out what changes downloads on the way to this machine before going on.",
        )
    return StackError(
        f"{jar.filename} could not be downloaded: {error}",
        "Check the connection to Maven Central and run the command again; "
        "what has arrived is kept.",
    )


@tenacity.retry(
    retry=tenacity.retry_if_not_exception_type(ChecksumMismatch),
    stop=tenacity.stop_after_attempt(ATTEMPTS),
    wait=tenacity.wait_exponential_jitter(1, 10),
    reraise=True,
)
def _download(jar: Jar, target: Path, tally: Tally) -> None:
    if not (target.exists() and sha256_of(target) == jar.sha256):
        target.parent.mkdir(parents=True, exist_ok=True)
        # A repository folder for each attempt: jgo would take half a file of a broken one as whole.
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=SCRATCH) as scratch:
            fetched = _resolve(jar, Path(scratch), tally)
            actual = sha256_of(fetched)
            if actual != jar.sha256:
                raise ChecksumMismatch(f"sha256 {actual} instead of {jar.sha256}")
            fetched.replace(target)
    tally.finish_file()


def _resolve(jar: Jar, scratch: Path, tally: Tally) -> Path:
    from jgo.maven import MavenContext, PythonResolver  # slow to import, seldom needed

    resolver = PythonResolver(progress_callback=tally.following)
    context = MavenContext(resolver=resolver, repo_cache=scratch, timeout=30)
    component = context.project(jar.group, jar.artifact).at_version(jar.version)
    fetched: Path = component.artifact(jar.classifier, jar.extension).resolve()
    return fetched


def sha256_of(file: Path) -> str:
    """The file's SHA-256 in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _unpack(archive: Path) -> None:
    with tarfile.open(archive) as tar:
        # Its checksum is pinned; the filters of newer Pythons are not in 3.11.0.
        tar.extractall(archive.parent)  # noqa: S202
    archive.unlink()


@contextmanager
def _only_one(lock: Path, report: Report) -> Iterator[None]:
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("another stack is downloading; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    fetch_part(sys.argv[1], Path(sys.argv[2]), lambda _: None)
