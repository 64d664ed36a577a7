"""Settings of analytics."""

from services.eventkit.settings import ServiceSettings


class AnalyticsSettings(ServiceSettings):
    """The common ones; nobody waits for figures, so events come in larger batches."""

    gather: float = 0.2
