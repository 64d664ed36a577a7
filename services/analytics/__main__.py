"""Run analytics: ``python -m services.analytics``."""

from services.analytics.api import routes
from services.analytics.chores import chores
from services.analytics.handlers import HANDLERS
from services.analytics.jobs import job_kinds
from services.analytics.settings import AnalyticsSettings
from services.analytics.store import AnalyticsStore
from services.eventkit.service import Service, main

SERVICE = Service(
    "analytics",
    AnalyticsSettings,
    HANDLERS,
    AnalyticsStore(),
    routes,
    jobs=job_kinds,
    chores=chores,
)

if __name__ == "__main__":
    main(SERVICE)
