"""`python -m infra.prometheus`: becomes a Prometheus that scrapes the embedded stack.

It is no part of `make up`: it costs memory that only someone who looks at it needs.
"""

import os
import sys

from infra.local import layout, lifecycle
from infra.local.errors import StackError
from infra.prometheus import configuration
from infra.prometheus.programs import find_or_fetch


def main() -> None:
    """Never returns while all is well: the process becomes Prometheus."""
    where = layout.load()
    try:
        programs = find_or_fetch(where.cache)
    except StackError as error:
        sys.exit(f"{error.problem}\n{error.next_step}")
    ports = lifecycle.running_ports(where)
    config = configuration.write(where.conf / "prometheus", ports.address)
    data = where.data / "prometheus"
    address = ports.address("prometheus")
    sys.stdout.write(f"Prometheus: http://{address}/alerts\n")
    sys.stdout.flush()
    arguments = (
        f"--config.file={config}",
        f"--storage.tsdb.path={data}",
        f"--web.listen-address={address}",
        "--log.level=warn",
    )
    os.execv(programs.prometheus, [str(programs.prometheus), *arguments])  # noqa: S606


if __name__ == "__main__":
    main()
