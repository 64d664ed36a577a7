"""Starts a stand-in as the real process it is, on ports of its own."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

ROOT = Path(__file__).parents[3]


def free_port() -> int:
    """A port nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Running:
    """A stand-in that can be killed and started again on the same file and ports."""

    def __init__(self, module: str, data_dir: Path, **settings: str) -> None:
        self.module = module
        self.http_port = free_port()
        self.smtp_port = free_port()
        self.url = f"http://127.0.0.1:{self.http_port}"
        self._environment = {
            **os.environ,
            "SAGA_DATA_DIR": str(data_dir),
            "SAGA_HTTP_PORT": str(self.http_port),
            "SAGA_SMTP_PORT": str(self.smtp_port),
            **settings,
        }
        self._log = data_dir / f"{module}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process and wait until it says that it is ready."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", self.module],
                cwd=ROOT,
                env=self._environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._wait_until_ready()

    def kill(self) -> None:
        """End the process without giving it a chance to do anything."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Ask the process to end; returns its exit code."""
        return self._end(signal.SIGTERM)

    @property
    def log(self) -> str:
        """All that the process has said."""
        return self._log.read_text()

    def _end(self, how: signal.Signals) -> int:
        if self._process is None:
            return 0
        self._process.send_signal(how)
        code = self._process.wait(timeout=20)
        self._process = None
        return code

    @retry(
        retry=retry_if_exception_type((httpx.HTTPError, AssertionError)),
        stop=stop_after_delay(30),
        wait=wait_fixed(0.05),
        reraise=True,
    )
    def _wait_until_ready(self) -> None:
        if self._process is None or self._process.poll() is not None:
            raise RuntimeError(f"{self.module} ended at start:\n{self.log}")
        assert httpx.get(f"{self.url}/health/ready").status_code == 200
