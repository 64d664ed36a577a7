"""Settings of the order service."""

from typing import Annotated, Any

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from services.eventkit.settings import PREFIX, ClientSettings


class Budgets(BaseSettings):
    """How many seconds an order may wait for a step before it counts as stuck."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore")

    stock_budget: float = 30.0
    payment_budget: float = 60.0
    undo_budget: float = 60.0  # the release of stock, a refund

    def of(self, step: str) -> float:
        """The budget of a step."""
        return {"stock": self.stock_budget, "payment": self.payment_budget}.get(
            step, self.undo_budget
        )


class OrderSettings(ClientSettings, Budgets):
    """Besides the common ones: where a trace can be looked at, and what is too much.

    Times are in seconds.
    """

    jaeger_url: str = ""
    open_orders: int = Field(default=10_000, ge=0)  # of one tenant, unless the key file says
    admission_groups: Annotated[tuple[str, ...], NoDecode] = ("inventory", "payment", "order")
    admission_max_lag: int = Field(default=1000, ge=0)  # events of a group; 0 admits always
    admission_max_age: float = Field(default=120.0, gt=0)  # of the oldest event not yet read
    admission_look: float = Field(default=2.0, gt=0)  # how often it is measured
    admission_at_once: int = Field(default=2, ge=1)  # orders being placed at the same moment
    admission_slower: float = Field(default=3.0, ge=0)  # times what is usual, that placing may take
    admission_quick: float = Field(default=0.02, ge=0)  # what never counts as slow
    admission_retry_after: int = Field(default=5, ge=1)
    webhook_timeout: float = Field(default=5.0, gt=0)  # of connecting and of an answer, each
    webhook_private_targets: bool = False  # webhooks may be http, and point at machines of ours
    waiting_look: float = 5.0  # how often waiting orders are counted

    @field_validator("admission_groups", mode="before")
    @classmethod
    def _names(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value
