"""What analytics forgets: files that have expired, and reports long after they ended."""

from collections.abc import Sequence
from datetime import timedelta

from services.analytics.domain import OrderFigures
from services.analytics.report_store import LOG, OLD_PAGES, OLD_REPORTS
from services.analytics.reports import Report
from services.analytics.settings import AnalyticsSettings
from services.eventkit.clients import client_chores
from services.eventkit.retention import prune
from services.eventkit.service import Runtime
from services.eventkit.upkeep import Chore


def chores(runtime: Runtime[OrderFigures | Report, AnalyticsSettings]) -> Sequence[Chore]:
    """The chores of a running analytics."""
    settings, db = runtime.settings, runtime.db
    week = timedelta(seconds=settings.retention + settings.report_keep)
    often = min(600.0, settings.report_keep / 10)
    return (
        Chore("prune_pages", often, lambda: prune(db, "report_pages", OLD_PAGES, timedelta(0))),
        Chore("prune_reports", often, lambda: prune(db, "reports", OLD_REPORTS, week)),
        *client_chores(db, settings, LOG),
    )
