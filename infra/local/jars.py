"""The Java artifacts that ``infra/jars.lock`` pins."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

LOCK_FILE = Path(__file__).parent.parent / "jars.lock"


@dataclass(frozen=True, slots=True)
class Jar:
    """One file of a Maven repository; ``part`` is the distribution it belongs to."""

    part: str
    group: str
    artifact: str
    version: str
    classifier: str
    extension: str
    sha256: str

    @property
    def filename(self) -> str:
        """The file's name as Maven repositories spell it."""
        suffix = f"-{self.classifier}" if self.classifier else ""
        return f"{self.artifact}-{self.version}{suffix}.{self.extension}"


def read_lock(file: Path = LOCK_FILE) -> list[Jar]:
    """All pinned artifacts. Raises ValueError naming the first line that makes no sense."""
    lines = file.read_text().splitlines()
    return list(_parse(enumerate(lines, 1)))


def _parse(lines: Iterable[tuple[int, str]]) -> Iterator[Jar]:
    for number, line in lines:
        text = line.split("#", 1)[0].split()
        if not text:
            continue
        try:
            part, coordinates, checksum = text
            group, artifact, version, *rest = coordinates.split(":")
            classifier, extension = rest or ("", "jar")
            kind, sha256 = checksum.split(":")
        except ValueError:
            raise ValueError(f"jars.lock line {number} is not 'part g:a:v sha256:...'") from None
        if kind != "sha256" or len(sha256) != 64:
            raise ValueError(f"jars.lock line {number} has no sha256")
        yield Jar(part, group, artifact, version, classifier, extension, sha256)


def fingerprint(jars: Iterable[Jar]) -> str:
    """A short name for exactly this set of artifacts."""
    digest = hashlib.sha256("\n".join(sorted(jar.sha256 for jar in jars)).encode())
    return digest.hexdigest()[:12]
