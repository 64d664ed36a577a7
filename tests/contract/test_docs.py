"""The documentation says only what is there: links, paths, commands, names and ports."""

import importlib.util
import re
import shlex
import tomllib
from collections.abc import Iterator

import pytest
import typer
from typer.core import TyperGroup

from infra.local.__main__ import app as local_app
from services.orderctl.__main__ import app as orderctl_app
from tests.contract.documents import ROOT, Document, documents

PAGES = pytest.mark.parametrize("page", documents(), ids=lambda page: page.name)

TOP = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")} | {".ci"}
SOURCE = "\n".join(
    path.read_text()
    for folder in ("services", "infra", "tests")
    for path in (ROOT / folder).rglob("*.py")
)
CLIS = {
    "orderctl": typer.main.get_command(orderctl_app),
    "python -m infra.local": typer.main.get_command(local_app),
}

# Reports of users of real systems: sagas, consumers, relays, schemas, the read model, mails,
# images.
SURVIVED = (
    *(1, 3, 6, 7, 8, 9, 10, 12, 13, 14, 15),
    *(30, 31, 32, 33, 35, 36, 38, 39),
    *(42, 43, 44, 46, 47),
    *(49, 50, 51, 52, 54),
    *(55, 56, 58, 60, 64, 65),
)

# One word for each thing, no promises in adjectives, nothing left to do, nobody's own folders.
FORBIDDEN = re.compile(
    r"\b(?:simply|just works|obviously|of course|seamless\w*|robust\w*|leverag\w+|blazing\w*"
    r"|powerful|cutting-edge|state-of-the-art|battle-tested|world-class|TODO|FIXME|XXX"
    r"|poison pill|rollback event)\b"
    r"|/(?:home|root|wor[k])/",
    re.IGNORECASE,
)
REGISTRY_HOST = re.compile(
    r"\b(?:pypi|pythonhosted|npmjs|rubygems|crates|quay|ghcr|docker|gcr|sonatype)\.(?:org|io|com)\b"
    r"|\bmaven\.(?:org|apache\.org)\b|\bproxy\.golang\b",
    re.IGNORECASE,
)


@PAGES
def test_every_link_leads_somewhere(page: Document) -> None:
    broken = []
    for link in page.links:
        target, _, anchor = link.partition("#")
        path = (page.path.parent / target).resolve() if target else page.path
        if not path.exists() or (anchor and anchor not in Document(path).anchors):
            broken.append(link)
    assert not broken


@PAGES
def test_every_path_is_there(page: Document) -> None:
    assert not [path for path in _paths(page) if not list(ROOT.glob(path.rstrip("/")))]


def _paths(page: Document) -> Iterator[str]:
    """Inline code that looks like a file or folder of ours; ``<name>`` stands for any."""
    for text in page.inline:
        path = re.sub(r"<[^>]+>", "*", text)
        if path.split("/")[0] in TOP and re.fullmatch(r"[\w.*\-/]+", path) and "." in path + "/.":
            yield path


@PAGES
def test_every_make_target_exists(page: Document) -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = re.findall(r"(?:^|(?<=[\s;]))make ([a-z][a-z-]*)", page.code, re.MULTILINE)
    assert set(named) <= targets


@PAGES
@pytest.mark.parametrize("program", CLIS)
def test_every_command_and_option_exists(page: Document, program: str) -> None:
    group = CLIS[program]
    assert isinstance(group, TyperGroup)
    for words in _calls(page.code, program):
        assert words[0] in group.commands, f"{program} has no command {words[0]}"
        command = group.commands[words[0]]
        if isinstance(command, TyperGroup) and len(words) > 1:
            assert words[1] in command.commands, f"{program} {words[0]} has no {words[1]}"
            command = command.commands[words[1]]
        options = command.params
        known = {name for option in options for name in (*option.opts, *option.secondary_opts)}
        unknown = {word for word in words if word.startswith("-")} - known - {"--help"}
        assert not unknown, f"{program} {words[0]} has no {unknown}"


def _calls(code: str, program: str) -> Iterator[list[str]]:
    """The words after a program's name on each line, up to a comment or a shell operator."""
    for line in code.splitlines():
        for call in re.findall(rf"(?:^|[\s/]){re.escape(program)} (.+)", line):
            words = shlex.split(call.split(" #")[0], posix=False)
            end = next((i for i, word in enumerate(words) if word in {"&", ";", "|"}), len(words))
            if words[:end] and not words[0].startswith("-"):
                yield words[:end]


@PAGES
def test_every_module_exists(page: Document) -> None:
    modules = set(re.findall(r"python -m ((?:services|infra|docs)\.[\w.]+\w)", page.code))
    assert not [name for name in modules if importlib.util.find_spec(name) is None]


@PAGES
def test_every_setting_metric_and_port_exists(page: Document) -> None:
    settings = set(re.findall(r"\bSAGA_[A-Z_]+[A-Z]\b", page.text))
    unread = {
        name
        for name in settings
        if name not in SOURCE and f" {name.removeprefix('SAGA_').lower()}:" not in SOURCE
    }
    assert not unread
    metrics = set(re.findall(r"\bsaga_[a-z_]+[a-z]\b", page.text))
    assert not [name for name in metrics if f'"{name}"' not in SOURCE]
    ports = tomllib.loads((ROOT / "infra/ports.toml").read_text())
    known = {ports["base"] + offset for offset in ports["offsets"].values()} | {ports["base"]}
    assert {int(port) for port in re.findall(r"(?<![\d,.])21[89]\d\d\b", page.text)} <= known


def test_every_case_that_a_guarantee_names_is_tested_where_it_says() -> None:
    rows = (ROOT / "docs/reliability.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)` \((C\d\d(?:, C\d\d)*)\)", rows)
    assert len(named) > 20
    for path, cases in named:
        tests = (ROOT / path).read_text()
        missing = [case for case in cases.split(", ") if f"def test_{case.lower()}_" not in tests]
        assert not missing, f"{path} has no test of {missing}"


def test_every_case_that_the_saga_must_survive_has_a_test() -> None:
    tested = set(re.findall(r"def test_(c\d\d)_", SOURCE))
    assert not {f"c{number:02}" for number in SURVIVED} - tested


@PAGES
def test_words(page: Document) -> None:
    assert not FORBIDDEN.findall(page.prose)
    assert not REGISTRY_HOST.findall(page.text)
