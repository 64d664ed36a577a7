"""The project's pages as tests read them: prose, code, links, headings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Document:
    """One page; ``name`` is its path in the repository."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    @cached_property
    def text(self) -> str:
        """All of it but comments."""
        return _COMMENT.sub("", self.path.read_text())

    @property
    def prose(self) -> str:
        """The text without code, fenced or inline."""
        return _INLINE.sub("", _FENCE.sub("", self.text))

    @property
    def inline(self) -> list[str]:
        """What stands between single backticks; a line break inside is a blank."""
        unwrapped = re.sub(r"(?<=\S)\n(?=\S)", " ", _FENCE.sub("", self.text))
        return _INLINE.findall(unwrapped)

    @property
    def code(self) -> str:
        """Everything that is code, one piece a line, continued lines joined."""
        fenced = "\n".join(_FENCE.findall(self.text)).replace("\\\n", " ")
        return "\n".join([fenced, *self.inline])

    @property
    def links(self) -> Iterator[str]:
        """Targets of links that stay within the repository."""
        for target in _LINK.findall(_FENCE.sub("", self.text)):
            if "://" not in target and not target.startswith("mailto:"):
                yield target

    @property
    def anchors(self) -> set[str]:
        """The names by which a link reaches a heading, as GitHub makes them."""
        headings = _HEADING.findall(_FENCE.sub("", self.text))
        words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
        return {word.replace(" ", "-") for word in words}


def documents() -> list[Document]:
    """Every page of the project."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return [Document(path) for path in sorted(pages) if not path.name.endswith(".template.md")]
