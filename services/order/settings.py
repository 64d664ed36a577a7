"""Settings of the order service."""

from typing import Annotated, Any

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode

from services.eventkit.settings import CONFIG, ClientSettings


class Budgets(BaseSettings):
    """How many seconds an order may wait for a step before it counts as stuck."""

    model_config = CONFIG

    stock_budget: float = 30.0
    """For how long an order may wait for its stock before it counts as stuck."""
    payment_budget: float = 60.0
    """The same for its payment."""
    undo_budget: float = 60.0
    """The same for the release of its stock, and for a refund."""

    def of(self, step: str) -> float:
        """The budget of a step."""
        return {"stock": self.stock_budget, "payment": self.payment_budget}.get(
            step, self.undo_budget
        )


class OrderSettings(ClientSettings, Budgets):
    """Besides the common ones: where a trace can be looked at, and what is too much."""

    jaeger_url: str = ""
    """Where traces can be looked at: an order has a link to its own."""
    open_orders: int = Field(default=10_000, ge=0)
    """Open orders of one tenant, unless the file of keys says otherwise."""
    admission_groups: Annotated[tuple[str, ...], NoDecode] = ("inventory", "payment", "order")
    """The consumer groups whose lag closes the door, with commas between."""
    admission_max_lag: int = Field(default=1000, ge=0)
    """How many events one of them may have still to read; 0 measures no lag and no age."""
    admission_max_age: float = Field(default=120.0, gt=0)
    """How old the oldest event may be that one of them has not read."""
    admission_look: float = Field(default=2.0, gt=0)
    """How often lag and age are measured."""
    admission_at_once: int = Field(default=2, ge=1)
    """Orders that are being placed at the same moment."""
    admission_slower: float = Field(default=3.0, ge=0)
    """How many times what is usual placing may take before fewer are let in; 0 lets all in."""
    admission_quick: float = Field(default=0.02, ge=0)
    """How long placing may take and never counts as slow."""
    admission_retry_after: int = Field(default=5, ge=1)
    """When somebody may come back who was refused because of lag or age."""
    webhook_timeout: float = Field(default=5.0, gt=0)
    """How long connecting to a webhook's address may take, and its answer."""
    webhook_private_targets: bool = False
    """Whether webhooks may be plain HTTP, and point at machines of ours."""
    waiting_look: float = 5.0
    """How often waiting orders are counted."""

    @field_validator("admission_groups", mode="before")
    @classmethod
    def _names(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value
