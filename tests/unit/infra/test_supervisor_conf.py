"""Checked with Supervisor's own parser: what we render is what it reads."""

from pathlib import Path
from typing import Any

import pytest
from supervisor.options import ServerOptions

from infra.local.backoff import LONGEST_WAIT, RETRIES
from infra.local.errors import StackError
from infra.local.layout import Layout
from infra.local.programs import Program
from infra.local.supervisor_conf import environment, render

AWKWARD = {
    "PLAIN": "1",
    "PASSWORD": "a%b\\c,d=e;f#g",
    "EMPTY": "",
    "URL": "postgresql://u:p@h/d?x=1",
}


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout(tmp_path / "state", tmp_path / "cache")
    made.create()
    return made


def _read(layout: Layout, *programs: Program) -> list[Any]:
    layout.supervisor_conf.write_text(render(programs, layout, root=False))
    options = ServerOptions()
    options.realize(["-c", str(layout.supervisor_conf)])
    return [config for group in options.process_group_configs for config in group.process_configs]


def test_environment_and_command_arrive_as_given(layout: Layout) -> None:
    command = ("/bin/java", "-cp", "/a b/*", "-Dx=50%", 'say "hi"')
    (config,) = _read(layout, Program("broker", command, 20, AWKWARD))
    assert config.environment == AWKWARD
    assert config.command == "/bin/java -cp '/a b/*' -Dx=50% 'say \"hi\"'"


@pytest.mark.parametrize("value", ['a"b', "it's", "two\nlines", "a #b"])
def test_a_value_that_cannot_be_written_is_refused(value: str) -> None:
    with pytest.raises(StackError, match=r"quote|comment"):
        environment({"SAGA_X": value})


def test_a_program_is_restarted_for_ever_but_never_starts_by_itself(layout: Layout) -> None:
    (config,) = _read(layout, Program("order", ("/bin/true",), 70))
    assert config.autorestart is not False
    assert config.autostart is False
    assert config.startretries == RETRIES > LONGEST_WAIT


def test_what_is_written_to_is_stopped_after_what_writes(layout: Layout) -> None:
    programs = [Program("postgres", ("/bin/true",), 10), Program("order", ("/bin/true",), 70)]
    first, last = sorted(_read(layout, *programs), reverse=True)
    assert (first.name, last.name) == ("order", "postgres")
