"""A Docker engine: the one that answers, else one started for the tests and stopped after them.

Where no engine answers, root and apt are needed. The engine that is started keeps its images in
the cache folder, listens on a socket of its own and publishes on loopback. No image can be pulled
for it on a machine without internet, so it works with the stand-ins.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.local import layout
from infra.local.errors import StackError
from infra.local.waiting import until

PACKAGES = ("docker.io", "iptables", "mmdebstrap")
READY_SECONDS = 120
STOP_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Engine:
    """``environment`` is what a docker command needs besides; ``ours`` says who started it."""

    environment: Mapping[str, str]
    ours: bool

    def docker(self, *arguments: str, check: bool = True) -> str:
        """What a docker command printed; raises CalledProcessError."""
        done = subprocess.run(
            ["docker", *arguments],
            check=check,
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            text=True,
        )
        return done.stdout.strip()

    def has(self, image: str) -> bool:
        """Whether the image is there, so that nothing would be pulled."""
        return bool(self.docker("images", "--quiet", image))


def answering() -> Engine | None:
    """The engine that docker commands reach now, if any."""
    if shutil.which("docker") is None:
        return None
    done = subprocess.run(["docker", "info"], check=False, capture_output=True)
    return None if done.returncode else Engine({}, ours=False)


@contextmanager
def engine() -> Iterator[Engine]:
    """The engine that answers, or one of our own for as long as the block lasts."""
    if found := answering():
        yield found
        return
    _install()
    home = layout.load().cache / "docker-engine"
    home.mkdir(parents=True, exist_ok=True)
    # Paths of sockets have a limit of about a hundred characters.
    run = Path(tempfile.mkdtemp(prefix="order-saga-engine-"))
    engine = Engine({"DOCKER_HOST": f"unix://{run}/docker.sock"}, ours=True)
    with (home / "dockerd.log").open("w") as log:
        process = subprocess.Popen(
            [
                "dockerd", "--storage-driver=overlay2", "--ip=127.0.0.1",
                f"--data-root={home}/data", f"--exec-root={run}/exec", f"--pidfile={run}/pid",
                f"--host=unix://{run}/docker.sock",
            ],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )  # fmt: skip
        try:
            until(lambda: _answers(engine, process), READY_SECONDS, "dockerd to answer")
            yield engine
            # Builds leave images without a name, and the folder is kept.
            engine.docker("image", "prune", "--force")
        finally:
            # It stops the containers that still run, and its containerd.
            process.terminate()
            process.wait(STOP_SECONDS)
            shutil.rmtree(run, ignore_errors=True)


def _answers(engine: Engine, process: "subprocess.Popen[bytes]") -> bool:
    if process.poll() is not None:
        raise StackError("dockerd has ended", "Read docker-engine/dockerd.log in the cache folder.")
    environment = {**os.environ, **engine.environment}
    done = subprocess.run(["docker", "info"], check=False, capture_output=True, env=environment)
    return done.returncode == 0


def _install() -> None:
    """What an engine and the stand-ins need, where it is missing. Raises StackError."""
    if all(shutil.which(program) for program in ("docker", "dockerd", "iptables", "mmdebstrap")):
        return
    apt = shutil.which("apt-get")
    if sys.platform != "linux" or os.geteuid() != 0 or apt is None:
        raise StackError("no Docker engine answers", "Start one, or run this as root on Debian.")
    for arguments in (["update"], ["install", "-y", "--no-install-recommends", *PACKAGES]):
        subprocess.run([apt, *arguments, "-qq"], check=True, stdout=sys.stderr)
