"""Run the email service: ``python -m services.email``."""

from services.email import api, jobs
from services.email.handlers import HANDLERS
from services.email.settings import EmailSettings
from services.email.store import EmailStore
from services.eventkit.service import Service, main

SERVICE = Service(
    name="email",
    settings=EmailSettings,
    handlers=HANDLERS,
    store=EmailStore(),
    routes=api.routes,
    jobs=jobs.kinds,
)

if __name__ == "__main__":
    main(SERVICE)
