from pathlib import Path

import pytest

from infra.local import jars

CHECKSUM = "a" * 64


def _lock(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "jars.lock"
    file.write_text(text)
    return file


def test_every_part_of_the_stack_is_pinned() -> None:
    pinned = jars.read_lock()
    assert {jar.part for jar in pinned} == {"kafka", "debezium", "apicurio"}
    versions = {jar.artifact: jar.version for jar in pinned}
    assert versions["kafka_2.13"] == "4.3.1"
    assert versions["debezium-connector-postgres"] == "3.6.1.Final"


def test_a_line_with_classifier_names_the_file_maven_has(tmp_path: Path) -> None:
    text = f"# why\n\napicurio  io.apicurio:app:3.3.3:all:tar.gz sha256:{CHECKSUM}\n"
    (jar,) = jars.read_lock(_lock(tmp_path, text))
    assert jar.filename == "app-3.3.3-all.tar.gz"
    assert (jar.group, jar.artifact, jar.version) == ("io.apicurio", "app", "3.3.3")


@pytest.mark.parametrize(
    "line", ["kafka g:a:1", "kafka g:a sha256:x", f"kafka g:a:1 md5:{CHECKSUM}", "kafka g:a:1 x:y"]
)
def test_a_line_without_a_checksum_is_refused_by_its_number(tmp_path: Path, line: str) -> None:
    with pytest.raises(ValueError, match="line 2"):
        jars.read_lock(_lock(tmp_path, f"# first\n{line}\n"))


def test_the_fingerprint_is_of_the_content_not_of_the_order(tmp_path: Path) -> None:
    text = f"k g:a:1 sha256:{CHECKSUM}\nk g:b:1 sha256:{'b' * 64}\n"
    both = jars.read_lock(_lock(tmp_path, text))
    assert jars.fingerprint(both) == jars.fingerprint(both[::-1])
    assert jars.fingerprint(both) != jars.fingerprint(both[:1])
