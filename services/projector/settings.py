"""Settings of the projector's two processes, from the environment (prefix ``SAGA_``)."""

from typing import Annotated, Any

from pydantic import field_validator
from pydantic_settings import NoDecode

from services.eventkit.settings import ProcessSettings

GROUP = "projector"
TOPICS = (
    "order.events",
    "inventory.events",
    "payment.events",
    "email.events",
    "analytics.events",
)


class ApiSettings(ProcessSettings):
    """What the read API needs. ``topics`` are those it measures the lag of."""

    database_url: str
    kafka_bootstrap: str
    topics: Annotated[tuple[str, ...], NoDecode] = TOPICS
    lag_look: float = 5.0  # how often the lag is measured for the metrics, in seconds

    @field_validator("topics", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value


class AgentSettings(ApiSettings):
    """What the Faust agent needs. Times are in seconds.

    ``gather`` is how long records may wait for others to share their transaction. An agent that
    makes no progress for ``stalled_after``, though events and infrastructure are there, ends with
    an error, so that it is started anew.
    """

    registry_url: str
    group: str = GROUP
    batch_size: int = 500
    gather: float = 0.1
    stalled_after: float = 30.0
