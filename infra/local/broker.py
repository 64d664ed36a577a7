"""Formats the broker's storage, once."""

import subprocess

from infra.kafka.cluster import new_cluster_id
from infra.local import jvm
from infra.local.errors import StackError
from infra.local.stack import Stack


def format_once(stack: Stack) -> None:
    """Give the broker a storage with a new cluster id, unless it has one."""
    if (stack.layout.data / "kafka" / "meta.properties").exists():
        return
    arguments = jvm.format_storage(
        stack.distributions.kafka_libs, stack.layout.conf / "broker.properties", new_cluster_id()
    )
    done = subprocess.run(
        [stack.java.path, *stack.java.options, *arguments],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise StackError(
            f"the broker's storage could not be formatted: {(done.stdout + done.stderr)[-800:]}",
            "Run `make purge` if the folder holds nothing you need.",
        )
