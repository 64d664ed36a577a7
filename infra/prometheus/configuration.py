"""What Prometheus reads: the processes of one system by their addresses, and the rules."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from infra.names import EMITTERS

HERE: Final = Path(__file__).parent
RULES: Final = HERE / "rules"
TARGETS: Final = "targets.json"

PROCESSES: Final[Mapping[str, str]] = {
    **{name: name for name in EMITTERS},
    "projector-agent": "projector_agent",
    "projector-api": "projector",
    "connect-guardian": "connect_guardian",
}
"""Every process that serves metrics, as ``make status`` names it, and its name in ports.toml."""

_GROUPS: Final[Mapping[str, str]] = {
    **{name: name for name in EMITTERS},
    "projector-agent": "projector",
}


def targets(address: Callable[[str], str]) -> str:
    """The text of ``targets.json``; ``address`` gives ``host:port`` of a name in ports.toml.

    ``consumer`` is the group that a process reads for.
    """
    found = [
        {
            "targets": [address(port)],
            "labels": {"process": process, "consumer": _GROUPS.get(process, "")},
        }
        for process, port in PROCESSES.items()
    ]
    return json.dumps(found, indent=2) + "\n"


def write(folder: Path, address: Callable[[str], str]) -> Path:
    """Everything Prometheus reads, in one folder; the file to start it with."""
    (folder / "rules").mkdir(parents=True, exist_ok=True)
    for rules in RULES.glob("*.yml"):
        shutil.copy(rules, folder / "rules" / rules.name)
    (folder / TARGETS).write_text(targets(address))
    config = folder / "prometheus.yml"
    shutil.copy(HERE / "prometheus.yml", config)
    return config
