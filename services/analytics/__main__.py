"""Run analytics: ``python -m services.analytics``."""

from services.analytics.api import routes
from services.analytics.handlers import HANDLERS
from services.analytics.store import AnalyticsStore
from services.eventkit.service import Service, main
from services.eventkit.settings import ServiceSettings

SERVICE = Service("analytics", ServiceSettings, HANDLERS, AnalyticsStore(), routes)

if __name__ == "__main__":
    main(SERVICE)
