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
    """What the read API needs."""

    database_url: str
    """The read model's database."""
    kafka_bootstrap: str
    """The broker."""
    topics: Annotated[tuple[str, ...], NoDecode] = TOPICS
    """The topics that are projected, with commas between."""
    lag_look: float = 1.0
    """How often the lag is measured, for the answers and the metrics."""

    @field_validator("topics", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value


class AgentSettings(ApiSettings):
    """What the Faust agent needs."""

    registry_url: str
    """The schema registry."""
    group: str = GROUP
    """Its consumer group."""
    batch_size: int = 500
    """How many records share a transaction at most."""
    gather: float = 0.1
    """How long records may wait for others to share their transaction."""
    stalled_after: float = 30.0
    """After so long an agent that makes no progress, though events and infrastructure are there,
    ends with an error, to be started anew."""
