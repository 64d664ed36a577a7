"""Settings of analytics."""

from pydantic import Field

from services.eventkit.settings import ClientSettings


class AnalyticsSettings(ClientSettings):
    """The common ones, and what a report may be."""

    gather: float = 0.2
    """How long the broker may keep records back: nobody waits for figures, so batches are large."""
    job_poll: float = 1.0
    """How often jobs that are due are looked for: a report wakes the worker, this finds those of a
    process that died."""
    report_page: int = Field(default=2000, ge=1)
    """Rows of a report that are in memory at once."""
    report_keep: float = Field(default=86_400.0, gt=0)
    """For how long a report can be downloaded."""
    open_reports: int = Field(default=5, ge=1)
    """Reports of one tenant that are being written."""
