"""Where the parts of the running stack are; written by ``make up``, or given in the environment."""

import os
from pathlib import Path

from pydantic import ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from services.orderctl.errors import CliError

CHECKOUT = Path(__file__).resolve().parents[2]


class Settings(BaseSettings):
    """Addresses of every part that a command may talk to (environment: ``SAGA_`` + name)."""

    model_config = SettingsConfigDict(env_prefix="SAGA_", extra="ignore")

    order_url: str
    payment_url: str
    inventory_url: str
    email_url: str
    analytics_url: str
    projector_url: str
    agent_url: str = ""  # the projector's agent, and connect-guardian: health and metrics
    guardian_url: str = ""
    jaeger_url: str
    provider_url: str
    mail_url: str
    connect_url: str
    kafka_bootstrap: str
    registry_url: str
    auditor_url: str
    keys_file: Path | None = None  # only `orderctl keys` writes it
    api_key: str = ""  # sent with every request; without one it is the open tenant's
    otlp_endpoint: str = ""  # long commands send their spans there
    relay_url: str = ""  # the relay's account: only the recovery of its slot needs it
    analytics_database_url: str = ""  # only a rebuild writes, and only to the figures
    projector_database_url: str = ""  # only a replay writes, and only to the projector's tables

    def database_url(self, service: str) -> str:
        """The auditor's address of a service's database; the auditor can read, never write."""
        return f"{self.auditor_url.rstrip('/')}/{service}_db"


def env_file() -> Path:
    """The file read for what the environment does not give."""
    if named := os.environ.get("SAGA_ENV_FILE"):
        return Path(named)
    return Path(os.environ.get("SAGA_STATE_DIR") or CHECKOUT / ".state") / "orderctl.env"


def load_settings() -> Settings:
    """Settings from the environment, else from the env file; names what is missing."""
    try:
        return Settings(_env_file=env_file())  # type: ignore[call-arg]
    except ValidationError as error:
        names = [f"SAGA_{str(part['loc'][0]).upper()}" for part in error.errors()]
        raise missing(*names) from error


def keys_file() -> Path:
    """The file of API keys."""
    if (path := load_settings().keys_file) is None:
        raise missing("SAGA_KEYS_FILE")
    return path


def missing(*names: str) -> CliError:
    """What to say when settings are not there."""
    path = env_file()
    where = f"in {path}" if path.exists() else f"in {path}, which does not exist"
    return CliError(
        f"missing setting: {', '.join(names)}: not in the environment, not {where}",
        "run make up, or point SAGA_ENV_FILE at the settings of a running stack",
    )
