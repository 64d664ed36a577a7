"""Settings of payment, from the environment."""

from pydantic import Field

from services.eventkit.settings import ServiceSettings


class PaymentSettings(ServiceSettings):
    """What payment needs besides: where the provider is, and how long to wait for it."""

    provider_url: str
    """The payment provider."""
    provider_webhook_secret: str = ""
    """Signs what the provider sends by itself (base64); without it nothing of that is believed."""
    provider_timeout: float = Field(default=2.0, gt=0)
    """How long connecting to the provider may take, and each of its answers."""
