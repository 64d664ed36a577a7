"""Processes of a stack whose control socket is gone."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from infra.local import layout as layouts
from infra.local import leftovers
from infra.local.layout import Layout
from infra.local.supervisor import SUPERVISORD
from tests.saga.support.wait import until

CONF = """
[supervisord]
nodaemon=true
user={user}
logfile=/dev/null
logfile_maxbytes=0
pidfile={run}/supervisord.pid

[unix_http_server]
file={socket}

[rpcinterface:supervisor]
supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface

[program:lasting]
command=sleep 1000
autorestart=true
startsecs=0
"""


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = layouts.load({"SAGA_STATE_DIR": str(tmp_path / "state"), "HOME": str(tmp_path)})
    made.create()
    return made


def test_a_supervisor_without_its_socket_is_ended_before_it_starts_others_again(
    layout: Layout,
) -> None:
    user = psutil.Process().username()
    conf = CONF.format(user=user, run=layout.run, socket=layout.socket)
    layout.supervisor_conf.write_text(conf)
    command = [sys.executable, "-m", SUPERVISORD, "-c", str(layout.supervisor_conf)]
    supervisor = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        until(lambda: len(leftovers.find(layout)) == 2, "Supervisor and its process", 20)
        layout.socket.unlink()
        leftovers.end(layout)
        assert supervisor.wait(10) == 0
        assert leftovers.find(layout) == []
    finally:
        supervisor.kill()
        leftovers.end(layout)
