"""The configuration of the outbox connectors: what all share is in outbox.json.

Why some lines of outbox.json are as they are:

- ``initial`` reads what was written before the connector existed, and only then: with a stored
  place whose slot is gone the task fails, loudly, and makes no new slot. ``trust_offset`` makes it
  fail as well where somebody has made a new slot that is ahead of the stored place; without it the
  rows in between are passed over in silence. `orderctl cdc recover` closes the hole.
- The heartbeat writes to the WAL itself. In a shared cluster the slot of an idle database would
  otherwise hold back the WAL that busy databases write.
- A record for a topic that does not exist blocks the producer; ``max.block.ms`` makes that a
  FAILED task after two minutes, longer than any restart of a broker takes.
- Polling costs CPU even where nothing is written. The saga waits for order, inventory and payment,
  so these are polled every 25 ms; nobody waits for what email and analytics say.
- ``ce_specversion`` is a column because a header literal of 1.0 would arrive as 1.
- A NULL column becomes a header without a value, which readers treat as absent.
- The ``id`` header that the router always adds repeats ``ce_id``, so it is dropped.
"""

import json
from pathlib import Path

from infra.names import EMITTERS, PUBLICATION, connector, database, slot, topic_prefix

_SHARED = Path(__file__).with_name("outbox.json")

HEADERS = {
    "message_id": "ce_id",
    "specversion": "ce_specversion",
    "event_type": "ce_type",
    "source": "ce_source",
    "event_time": "ce_time",
    "subject": "ce_subject",
    "correlation_id": "ce_correlationid",
    "causation_id": "ce_causationid",
    "sequence": "ce_sequence",
    "schema_version": "ce_schemaversion",
    "tenant_id": "ce_tenantid",
    "actor_id": "ce_actorid",
    "traceparent": "traceparent",
}
"""Which column of an outbox row becomes which header of the record, in the order of the record."""


UNHURRIED = {"email": "100", "analytics": "500"}
"""Services whose events no order waits for, and how often their outbox is polled, in ms."""


def all_configs(database_host: str, database_port: int) -> dict[str, dict[str, str]]:
    """The configuration of every connector, by its name."""
    return {
        connector(service): connector_config(service, database_host, database_port)
        for service in EMITTERS
    }


def connector_config(service: str, database_host: str, database_port: int) -> dict[str, str]:
    """The connector of one service's outbox, as Connect stores it; it holds no password."""
    placement = ",".join(f"{column}:header:{header}" for column, header in HEADERS.items())
    own = {
        "name": connector(service),
        "database.hostname": database_host,
        "database.port": str(database_port),
        "database.dbname": database(service),
        "topic.prefix": topic_prefix(service),
        "slot.name": slot(service),
        "publication.name": PUBLICATION,
        "transforms.outbox.table.fields.additional.placement": placement,
    }
    shared: dict[str, str] = json.loads(_SHARED.read_text())
    if service in UNHURRIED:
        own["poll.interval.ms"] = UNHURRIED[service]
    return {**shared, **own}
