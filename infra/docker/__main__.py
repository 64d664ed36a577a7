"""One step of setting the containers up: ``python -m infra.docker configure`` and the others.

They are what `make up` does, in the same order, which docker-compose.yml says by its conditions.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from infra.docker import steps
from infra.docker.files import all_files
from infra.docker.network import inside
from infra.local import passwords
from infra.local.errors import StackError
from infra.local.layout import Layout
from infra.wiring import Wiring

SECRETS = Layout(state=Path("/secrets"), cache=Path("/nowhere"))
"""Where the generated passwords are kept; only the containers that run these steps see it."""
CONFS = Path("/confs")
"""In the container that configures: a folder for each other container."""


def configure() -> str:
    """Passwords, once, and each container's files in a volume of its own."""
    files = all_files(passwords.load_or_make(SECRETS))
    for container, named in files.items():
        for name, text in named.items():
            path = CONFS / container / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    return f"{len(files)} containers"


STEPS: dict[str, Callable[[Wiring], str]] = {
    step.__name__: step for step in (steps.databases, steps.topics, steps.schemas, steps.connectors)
}


def main(names: list[str]) -> int:
    """Take the steps that are named; a problem is told with what to do next."""
    known = ("configure", *STEPS)
    if not names or set(names) - set(known):
        sys.stderr.write(f"steps: {', '.join(known)}\n")
        return 2
    try:
        for name in names:
            done = (
                configure() if name == "configure" else STEPS[name](inside(passwords.read(SECRETS)))
            )
            sys.stdout.write(f"{name}: {done}\n")
    except StackError as error:
        sys.stderr.write(f"{error.problem}\n{error.next_step}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
