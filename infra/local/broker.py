"""Formats the broker's storage, once."""

import base64
import subprocess
import uuid

from infra.local.errors import StackError
from infra.local.stack import Stack


def format_once(stack: Stack) -> None:
    """Give the broker a storage with a new cluster id, unless it has one."""
    if (stack.layout.data / "kafka" / "meta.properties").exists():
        return
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    done = subprocess.run(
        [
            stack.java.path, *stack.java.options, "-XX:TieredStopAtLevel=1",
            "-cp", f"{stack.distributions.kafka_libs}/*",
            "kafka.tools.StorageTool", "format", "--standalone", "--ignore-formatted",
            "--cluster-id", cluster, "--config", stack.layout.conf / "broker.properties",
        ],
        check=False,
        capture_output=True,
        text=True,
    )  # fmt: skip
    if done.returncode:
        raise StackError(
            f"the broker's storage could not be formatted: {(done.stdout + done.stderr)[-800:]}",
            "Run `make purge` if the folder holds nothing you need.",
        )
