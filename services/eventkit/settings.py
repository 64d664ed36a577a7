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
Role = Literal["api", "consumer", "worker"]


class ProcessSettings(BaseSettings):
    """What every process of the system needs, whatever it does."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore")

    http_host: str = "127.0.0.1"
    http_port: int
    otlp_endpoint: str = ""  # spans are dropped where this is empty
    trace_share: float = Field(default=1.0, ge=0, le=1)  # of the traces that begin in this process
    log_format: Literal["json", "console", ""] = ""  # "" is console on a terminal, else json
    log_level: str = "INFO"
    keys_file: Path | None = None  # the API keys; `orderctl keys` writes it
    open_tenant: str = ""  # who a request without a key is; empty: it is refused
    requests_per_second: int = Field(default=500, ge=1)  # of one tenant, each process
    orders_per_second: int = Field(default=100, ge=1)  # of one tenant, unless the key file says
    max_body: int = Field(default=1_048_576, ge=1)  # bytes of a request


class ServiceSettings(ProcessSettings):
    """What every service needs besides. Times are in seconds.

    ``gather`` is how long the broker may keep records back so that more of them share a batch: for
    a service that no order waits for.
    """

    database_url: str
    kafka_bootstrap: str
    registry_url: str
    roles: Annotated[tuple[Role, ...], NoDecode] = ("api", "consumer", "worker")
    batch_size: int = 500
    gather: float = Field(default=0.0, ge=0, le=5)
    job_poll: float = 0.25
    stop_grace: float = 8.0
    retention: float = 7 * 86_400.0  # inbox and outbox rows are kept so long
    relay_look: float = 5.0  # how often the replication slot of the outbox is looked at

    @field_validator("roles", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value


class ClientSettings(ServiceSettings):
    """What a service needs whose clients wait for what it does. Times are in seconds."""

    heartbeat: float = Field(default=15.0, gt=0)  # seconds of silence in a stream at most
    stream_limit: int = Field(default=1500, ge=1)  # streams and long polls of one tenant at once
    change_retention: float = 86_400.0  # for so long a stream can be taken up where it broke off
    key_retention: float = 86_400.0  # idempotency keys are kept so long


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
