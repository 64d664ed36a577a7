"""Settings of the payment provider."""

from pydantic import Field

from infra.fakes.serving import FakeSettings


class ProviderSettings(FakeSettings):
    """``hold_seconds`` must be longer than any client's timeout.

    Results are told at ``webhook_url``, signed with ``webhook_secret`` (base64).
    """

    webhook_url: str = ""
    webhook_secret: str = ""

    hold_seconds: float = Field(default=120.0, gt=0)
