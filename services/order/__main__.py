"""Wiring: ``python -m services.order``."""

from services.eventkit.service import Service, main
from services.order.api import routes
from services.order.chores import chores
from services.order.endings import measure
from services.order.handlers import HANDLERS
from services.order.jobs import job_kinds
from services.order.settings import OrderSettings
from services.order.store import OrderStore

SERVICE = Service(
    name="order",
    settings=OrderSettings,
    handlers=HANDLERS,
    store=OrderStore(),
    routes=routes,
    jobs=job_kinds,
    chores=chores,
    measure=measure,
)

if __name__ == "__main__":
    main(SERVICE)
