"""Settings of inventory."""

from pydantic import Field

from services.eventkit.settings import ClientSettings


class InventorySettings(ClientSettings):
    """The common ones, and what an import may be."""

    job_poll: float = 1.0
    """How often jobs that are due are looked for: an import wakes the worker, this finds those of a
    process that died."""
    import_max_body: int = Field(default=33_554_432, ge=1)
    """Bytes of a file."""
    import_chunk: int = Field(default=262_144, ge=1)
    """Bytes of a file that are in memory at once."""
    import_keep: float = Field(default=7 * 86_400.0, gt=0)
    """For how long after its end an import is kept, with its bad rows."""
    open_imports: int = Field(default=5, ge=1)
    """Imports of one tenant that are under way."""
