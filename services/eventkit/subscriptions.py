"""Who reads which topic, as the description of the events has it.

``schemas/asyncapi.json`` is made from the tables of handlers of all services, and goes wherever one
of them does: nobody has to import another's table.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from services.eventkit.schemas import SCHEMAS_DIR

_CHANNEL: Final = "#/channels/"


def topics_read(group: str) -> frozenset[str]:
    """The topics of which a consumer group, named like its service, handles something."""
    return _by_reader().get(group, frozenset())


@cache
def _by_reader() -> Mapping[str, frozenset[str]]:
    described: Mapping[str, Any] = json.loads((SCHEMAS_DIR / "asyncapi.json").read_text())
    found: dict[str, set[str]] = defaultdict(set)
    for operation in described["operations"].values():
        if operation["action"] == "receive":
            topic = operation["channel"]["$ref"].removeprefix(_CHANNEL)
            for tag in operation["tags"]:
                found[tag["name"]].add(topic)
    return {reader: frozenset(topics) for reader, topics in found.items()}
