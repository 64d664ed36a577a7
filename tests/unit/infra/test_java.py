import pytest

from infra.local.java import parse_version


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
