"""The command line of whatever is generated: write it, or say whether it is up to date."""

import sys
from pathlib import Path


def finish(target: Path, text: str, module: str) -> int:
    """Writes the text, or with ``--check`` compares; returns the exit code, 1 for a difference."""
    if "--check" not in sys.argv[1:]:
        target.write_text(text)
        return 0
    if target.exists() and target.read_text() == text:
        return 0
    name = f"{target.parent.name}/{target.name}"
    sys.stderr.write(f"{name} is out of date; run: python -m {module}\n")
    return 1
