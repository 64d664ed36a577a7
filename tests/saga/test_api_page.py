"""The examples of docs/api.md, executed in one shell: each answers as it is shown."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.live_stack import LiveStack

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
EXAMPLE = re.compile(r"^```sh\n(.*?)^```\n\n```http\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"http://127\.0\.0\.1:218(\d\d)\b")
SHOWN = re.compile(r"HTTP/1\.1 (\d{3})")
NEXT = "=== next example"


@pytest.fixture(scope="module")
def examples() -> list[tuple[str, list[str]]]:
    """Commands, and the statuses shown below them."""
    text = PAGE.read_text()
    found = [(code, SHOWN.findall(shown)) for code, shown in EXAMPLE.findall(text)]
    assert len(found) == text.count("```sh\n"), "an example without its answer"
    return found


def test_every_example_answers_as_it_is_shown(
    stack: LiveStack, examples: list[tuple[str, list[str]]]
) -> None:
    base = stack.ports["order"]
    script = f"\necho\necho '{NEXT}'\n".join(code for code, _ in examples)
    moved = PLACE.sub(lambda place: f"http://127.0.0.1:{base + int(place[1])}", script)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", moved],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = done.stdout.replace("\r", "").split(NEXT)
    assert len(answers) == len(examples)
    for (code, shown), answer in zip(examples, answers, strict=True):
        assert SHOWN.findall(answer) == shown, f"{code}\n{answer}"
