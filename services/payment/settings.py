"""Settings of payment, from the environment."""

from pydantic import Field

from services.eventkit.settings import ServiceSettings


class PaymentSettings(ServiceSettings):
    """What payment needs besides: where the provider is, and how long to wait for it (seconds).

    ``provider_webhook_secret`` signs what the provider sends by itself (base64); without it nothing
    of that is believed.
    """

    provider_url: str
    provider_webhook_secret: str = ""
    provider_timeout: float = Field(default=2.0, gt=0)
