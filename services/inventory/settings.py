"""Settings of inventory."""

from pydantic import Field

from services.eventkit.settings import ClientSettings


class InventorySettings(ClientSettings):
    """The common ones, and what an import may be. Times are in seconds."""

    job_poll: float = 1.0  # an import wakes the worker; this finds those of a process that died
    import_max_body: int = Field(default=33_554_432, ge=1)  # bytes of a file
    import_chunk: int = Field(default=262_144, ge=1)  # bytes of a file that are in memory at once
    import_keep: float = Field(default=7 * 86_400.0, gt=0)  # for so long its bad rows can be read
    open_imports: int = Field(default=5, ge=1)  # of one tenant
