"""Settings from the environment; a wrong one stops the process at start and is named.

SAGA_SETTINGS_FILE names a file of lines NAME=value for what the environment does not give: a
container's passwords do not show in its environment.
"""

import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

PREFIX = "SAGA_"
CONFIG = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", use_attribute_docstrings=True)
Role = Literal["api", "consumer", "worker"]


class ProcessSettings(BaseSettings):
    """What every process of the system needs, whatever it does. Times are in seconds."""

    model_config = CONFIG

    http_host: str = "127.0.0.1"
    """Where it listens."""
    http_port: int
    """The port it listens on."""
    otlp_endpoint: str = ""
    """Where spans are sent; where this is empty they are dropped."""
    trace_share: float = Field(default=1.0, ge=0, le=1)
    """How many of the traces that begin here are recorded, 0 to 1."""
    log_format: Literal["json", "console", ""] = ""
    """`json` or `console`; where this is empty, `console` on a terminal and `json` elsewhere."""
    log_level: str = "INFO"
    """The least that is logged."""
    keys_file: Path | None = None
    """The file of API keys, which `orderctl keys` writes; without one no key is valid."""
    open_tenant: str = ""
    """Which tenant a request without a key is of; where this is empty it is refused."""
    requests_per_second: int = Field(default=500, ge=1)
    """How many requests of one tenant each process answers."""
    orders_per_second: int = Field(default=100, ge=1)
    """How many orders of one tenant each process takes, unless the file of keys says otherwise."""
    max_body: int = Field(default=1_048_576, ge=1)
    """Bytes of a request."""


class ServiceSettings(ProcessSettings):
    """What every service needs besides."""

    database_url: str
    """Its own database."""
    kafka_bootstrap: str
    """The broker."""
    registry_url: str
    """The schema registry."""
    roles: Annotated[tuple[Role, ...], NoDecode] = ("api", "consumer", "worker")
    """What it does, with commas between; a second process may do a part."""
    batch_size: int = 500
    """How many records share a transaction at most."""
    gather: float = Field(default=0.0, ge=0, le=5)
    """How long the broker may keep records back so that more of them share a batch: for a service
    that no order waits for."""
    job_poll: float = 0.25
    """How often jobs that are due are looked for."""
    stop_grace: float = 8.0
    """How long a stop waits for what is in hand."""
    retention: float = 7 * 86_400.0
    """For how long inbox and outbox rows are kept."""
    relay_look: float = 5.0
    """How often the replication slot of the outbox is looked at."""

    @field_validator("roles", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value


class ClientSettings(ServiceSettings):
    """What a service needs whose clients wait for what it does."""

    heartbeat: float = Field(default=15.0, gt=0)
    """For how long a stream says nothing at most."""
    stream_limit: int = Field(default=1500, ge=1)
    """Streams and long polls of one tenant at once."""
    change_retention: float = 86_400.0
    """For how long a stream can be taken up where it broke off."""
    key_retention: float = 86_400.0
    """For how long idempotency keys are kept."""


T = TypeVar("T", bound=BaseSettings)


def load(settings: type[T]) -> T:
    """Reads the settings or ends the process with one line for each that is missing or wrong."""
    try:
        return settings(_env_file=os.environ.get("SAGA_SETTINGS_FILE"))
    except ValidationError as error:
        for problem in error.errors():
            name = PREFIX + "_".join(str(part) for part in problem["loc"]).upper()
            print(f"refused to start: setting {name}: {problem['msg']}", file=sys.stderr)  # noqa: T201
        raise SystemExit(2) from None
