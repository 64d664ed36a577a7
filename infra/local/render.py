"""Fills in the configuration templates that lie beside the parts they configure."""

from collections.abc import Mapping
from pathlib import Path
from string import Template

from infra.local.layout import ROOT


def template(name: str, values: Mapping[str, str | int]) -> str:
    """The text of ``infra/<name>`` with each ``${key}`` replaced; KeyError when one is missing."""
    return Template((ROOT / "infra" / name).read_text()).substitute(values)


def write_if_changed(path: Path, text: str) -> bool:
    """Write a file unless it holds this text already; says whether it wrote."""
    if path.exists() and path.read_text() == text:
        return False
    path.write_text(text)
    return True
