"""Settings of email, from the environment."""

from pydantic import Field

from services.eventkit.settings import ServiceSettings


class EmailSettings(ServiceSettings):
    """What email needs besides: the mail server, and how long to wait for it."""

    smtp_host: str
    """The mail server."""
    smtp_port: int
    """Its port."""
    smtp_timeout: float = Field(default=5.0, gt=0)
    """How long each of its answers may take."""
