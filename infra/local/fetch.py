"""Downloads the pinned Java artifacts once and lays them out in the cache.

jgo is asked for exact files only: its own dependency resolution picks other versions than Maven.
"""

import fcntl
import hashlib
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests
import tenacity

from infra.local.errors import StackError
from infra.local.jars import Jar, fingerprint, read_lock

AT_ONCE = 8
ATTEMPTS = 4
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


def _fetch(wanted: dict[Path, list[Jar]], report: Report) -> None:
    wanted = {home: jars for home, jars in wanted.items() if not home.exists()}
    drafts = {home: home.with_name(home.name + ".part") for home in wanted}
    tasks = [(jar, _folder(jar, drafts[home])) for home, jars in wanted.items() for jar in jars]
    _download_all(tasks, report)
    for home, jars in wanted.items():
        for jar in jars:
            if jar.extension == "tar.gz":
                report(f"unpacking {jar.filename}")
                _unpack(_folder(jar, drafts[home]) / jar.filename)
        drafts[home].rename(home)


def _folder(jar: Jar, home: Path) -> Path:
    # Connect looks for one folder a plugin inside its plugin path.
    return home / "debezium-postgres" if jar.part == "debezium" else home


def _download_all(tasks: Sequence[tuple[Jar, Path]], report: Report) -> None:
    done, size = 0, 0
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        futures = {pool.submit(_download, jar, folder): jar for jar, folder in tasks}
        for future in as_completed(futures):
            done, size = done + 1, size + _result(futures[future], future.result)
            report(f"{done} of {len(tasks)} files, {size / 1e6:.0f} MB")
    finally:
        pool.shutdown(cancel_futures=True)


def _result(jar: Jar, result: Callable[[], int]) -> int:
    try:
        return result()
    except ChecksumMismatch as error:
        raise StackError(
            f"{jar.filename} is not the file that infra/jars.lock pins: {error}",
            "Find out what changes downloads on the way to this machine before going on.",
        ) from error
    except (requests.RequestException, RuntimeError, OSError) as error:
        raise StackError(
            f"{jar.filename} could not be downloaded: {error}",
            "Check the connection to Maven Central and run the command again; "
            "what has arrived is kept.",
        ) from error


@tenacity.retry(
    stop=tenacity.stop_after_attempt(ATTEMPTS),
    wait=tenacity.wait_exponential_jitter(1, 10),
    reraise=True,
)
def _download(jar: Jar, folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / jar.filename
    if not (target.exists() and sha256_of(target) == jar.sha256):
        # A repository folder for each attempt: jgo would take half a file of a broken one as whole.
        from jgo.maven import MavenContext, PythonResolver  # slow to import, seldom needed

        with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as scratch:
            context = MavenContext(resolver=PythonResolver(), repo_cache=Path(scratch), timeout=30)
            component = context.project(jar.group, jar.artifact).at_version(jar.version)
            fetched = component.artifact(jar.classifier, jar.extension).resolve()
            actual = sha256_of(fetched)
            if actual != jar.sha256:
                raise ChecksumMismatch(f"sha256 {actual} instead of {jar.sha256}")
            fetched.replace(target)
    return target.stat().st_size


def sha256_of(file: Path) -> str:
    """The file's SHA-256 in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _unpack(archive: Path) -> None:
    with tarfile.open(archive) as tar:
        tar.extractall(archive.parent, filter="data")
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
