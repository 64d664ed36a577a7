"""Run the payment service: ``python -m services.payment``."""

from services.eventkit.service import Service, main
from services.payment import api, jobs
from services.payment.chores import chores
from services.payment.handlers import HANDLERS
from services.payment.settings import PaymentSettings
from services.payment.store import PaymentStore

SERVICE = Service(
    name="payment",
    settings=PaymentSettings,
    handlers=HANDLERS,
    store=PaymentStore(),
    routes=api.routes,
    jobs=jobs.kinds,
    chores=chores,
)

if __name__ == "__main__":
    main(SERVICE)
