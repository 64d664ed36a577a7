"""Renders Supervisor's configuration."""

import re
import shlex
from collections.abc import Iterable, Mapping

from infra.local.backoff import RETRIES
from infra.local.errors import StackError
from infra.local.layout import Layout
from infra.local.programs import Program

QUOTE = re.compile(r"[\"']")
COMMENT = re.compile(r"\s[#;]|\n")

HEAD = """\
[unix_http_server]
file={socket}
chmod=0600

[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface

[rpcinterface:backoff]
supervisor.rpcinterface_factory=infra.local.backoff:install

[supervisord]
nodaemon=true
{user}logfile={logs}/supervisord.log
logfile_maxbytes=5MB
logfile_backups=1
pidfile={run}/supervisord.pid
childlogdir={logs}
identifier=order-saga

[supervisorctl]
serverurl=unix://{socket}
"""

PROGRAM = """
[program:{name}]
command={command}
directory={directory}
environment={environment}
{user}priority={priority}
autostart=false
autorestart=true
startsecs={start_seconds}
startretries={retries}
stopsignal={stop_signal}
stopwaitsecs={stop_seconds}
redirect_stderr=true
stdout_logfile={logs}/{name}.log
stdout_logfile_maxbytes=20MB
stdout_logfile_backups=1
"""


def render(programs: Iterable[Program], layout: Layout, root: bool) -> str:
    """The whole file. It holds passwords: write it where only its owner can read."""
    head = HEAD.format(
        socket=_plain(str(layout.socket)),
        logs=_plain(str(layout.logs)),
        run=_plain(str(layout.run)),
        user="user=root\n" if root else "",
    )
    return head + "".join(_program(program, layout) for program in programs)


def _program(program: Program, layout: Layout) -> str:
    return PROGRAM.format(
        name=program.name,
        command=_plain(shlex.join(program.command)),
        directory=_plain(str(program.directory)),
        environment=environment(program.environment),
        user=f"user={program.account}\n" if program.account else "",
        priority=program.priority,
        start_seconds=program.start_seconds,
        retries=RETRIES,
        stop_signal=program.stop_signal,
        stop_seconds=program.stop_seconds,
        logs=_plain(str(layout.logs)),
    )


def environment(values: Mapping[str, str]) -> str:
    """``A="1",B="2"`` as Supervisor reads it. Raises StackError for what it has no way to write."""
    for name, value in values.items():
        if QUOTE.search(value):
            raise StackError(f"the value of {name} has a quote in it", f"Change {name}.")
    return _plain(",".join(f'{name}="{value}"' for name, value in sorted(values.items())))


def _plain(value: str) -> str:
    if COMMENT.search(value):
        raise StackError(
            f"Supervisor would take the end of this for a comment: {value}",
            "Use folders and settings without '#' or ';' after a space.",
        )
    return value.replace("%", "%%")
