"""Runs last: what is taken down is gone."""

from tests.containers.engine import Engine
from tests.containers.stack import ContainerStack


def test_down_with_volumes_leaves_nothing(docker: Engine, stack: ContainerStack) -> None:
    mounts = "{{range .Mounts}}{{.Name}} {{end}}"
    ids = docker.docker("ps", "--all", "--quiet", f"--filter=name={stack.container('')[:-2]}")
    used = set(docker.docker("inspect", "--format", mounts, *ids.split()).split())
    assert used

    stack.down()

    assert stack.leftovers() == []
    assert not used & set(docker.docker("volume", "ls", "--quiet").split())
