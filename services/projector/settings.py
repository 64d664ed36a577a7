"""Settings of the projector's two processes, from the environment (prefix ``SAGA_``)."""

from services.eventkit.settings import ProcessSettings

TOPICS = (
    "order.events",
    "inventory.events",
    "payment.events",
    "email.events",
    "analytics.events",
)


class ApiSettings(ProcessSettings):
    """What the read API needs."""

    database_url: str
    kafka_bootstrap: str


class AgentSettings(ApiSettings):
    """What the Faust agent needs. Times are in seconds.

    ``gather`` is how long records may wait for others to share their transaction. An agent that
    makes no progress for ``stalled_after``, though events and infrastructure are there, ends with
    an error, so that it is started anew.
    """

    registry_url: str
    batch_size: int = 500
    gather: float = 0.1
    stalled_after: float = 30.0
