"""Settings of email, from the environment."""

from pydantic import Field

from services.eventkit.settings import ServiceSettings


class EmailSettings(ServiceSettings):
    """What email needs besides: the mail server, and how long to wait for each answer (seconds)."""

    smtp_host: str
    smtp_port: int
    smtp_timeout: float = Field(default=5.0, gt=0)
