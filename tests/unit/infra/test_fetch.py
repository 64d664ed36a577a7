"""Downloads, with a repository that is a dictionary."""

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.local import fetch
from infra.local.errors import StackError
from infra.local.jars import Jar, fingerprint


def _archive() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        entry = tarfile.TarInfo("quarkus-run.jar")
        entry.size = 4
        tar.addfile(entry, io.BytesIO(b"main"))
    return stream.getvalue()


FILES = {"kafka": b"broker", "debezium": b"relay", "apicurio": _archive()}


def _jar(part: str) -> Jar:
    extension = "tar.gz" if part == "apicurio" else "jar"
    return Jar(part, "g", part, "1", "", extension, hashlib.sha256(FILES[part]).hexdigest())


Serve = Callable[..., list[str]]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Pins one file a part and serves them; returns the list of what was asked for."""

    def start(**instead: bytes) -> list[str]:
        asked: list[str] = []

        def resolve(jar: Jar, scratch: Path, tally: fetch.Tally) -> Path:
            asked.append(jar.part)
            file = scratch / jar.filename
            file.write_bytes({**FILES, **instead}[jar.part])
            return file

        monkeypatch.setattr(fetch, "_resolve", resolve)
        monkeypatch.setattr(fetch, "read_lock", lambda: [_jar(part) for part in FILES])
        return asked

    return start


def test_each_part_lands_where_its_program_looks_for_it(serve: Serve, tmp_path: Path) -> None:
    serve()
    homes = fetch.ensure(tmp_path, lambda _: None)
    assert (homes.kafka_libs / "kafka-1.jar").read_bytes() == b"broker"
    assert (homes.connect_plugins / "debezium-postgres/debezium-1.jar").read_bytes() == b"relay"
    assert [file.name for file in homes.registry.iterdir()] == ["quarkus-run.jar"]


def test_what_is_there_is_not_fetched_again(serve: Serve, tmp_path: Path) -> None:
    asked = serve()
    fetch.ensure(tmp_path, lambda _: None)
    fetch.ensure(tmp_path, lambda _: None)
    assert sorted(asked) == ["apicurio", "debezium", "kafka"]


def test_another_file_than_the_pinned_one_is_refused_by_name(serve: Serve, tmp_path: Path) -> None:
    serve(debezium=b"something else")
    with pytest.raises(StackError, match=r"debezium-1\.jar is not the file"):
        fetch.ensure(tmp_path, lambda _: None)


def test_an_interrupted_download_leaves_nothing_in_a_class_path(
    serve: Serve, tmp_path: Path
) -> None:
    serve()
    name = f"debezium-{fingerprint([_jar('debezium')])}.part"
    half = tmp_path / name / "debezium-postgres" / ".fetch-dead"
    half.mkdir(parents=True)
    (half / "half.jar").touch()
    homes = fetch.ensure(tmp_path, lambda _: None)
    plugin = homes.connect_plugins / "debezium-postgres"
    assert [file.name for file in plugin.iterdir()] == ["debezium-1.jar"]
