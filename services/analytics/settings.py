"""Settings of analytics."""

from pydantic import Field

from services.eventkit.settings import ClientSettings


class AnalyticsSettings(ClientSettings):
    """The common ones; nobody waits for figures, so events come in larger batches.

    Times are in seconds.
    """

    gather: float = 0.2
    job_poll: float = 1.0  # a report wakes the worker; this finds those of a process that died
    report_page: int = Field(default=2000, ge=1)  # rows of a report that are in memory at once
    report_keep: float = Field(default=86_400.0, gt=0)  # for so long a report can be downloaded
    open_reports: int = Field(default=5, ge=1)  # of one tenant
