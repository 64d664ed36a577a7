"""Settings of the order service."""

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from services.eventkit.settings import PREFIX, ServiceSettings


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


class OrderSettings(ServiceSettings, Budgets):
    """Besides the common ones: where a trace can be looked at."""

    jaeger_url: str = ""
    tenant_id: str = "demo"
    waiting_look: float = 5.0  # how often waiting orders are counted
    heartbeat: float = Field(default=15.0, gt=0)  # seconds of silence in a stream at most
    stream_limit: int = Field(default=1500, ge=1)  # streams and long polls of one tenant at once
    change_retention: float = 86_400.0  # for so long a stream can be taken up where it broke off
    key_retention: float = 86_400.0  # idempotency keys are kept so long
