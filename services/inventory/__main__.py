"""Run the inventory service: ``python -m services.inventory``."""

from services.eventkit.service import Service, main
from services.inventory import api, import_api
from services.inventory.chores import chores
from services.inventory.handlers import HANDLERS
from services.inventory.jobs import job_kinds
from services.inventory.settings import InventorySettings
from services.inventory.store import InventoryStore

SERVICE = Service(
    name="inventory",
    settings=InventorySettings,
    handlers=HANDLERS,
    store=InventoryStore(),
    routes=api.routes,
    jobs=job_kinds,
    chores=chores,
    large_bodies=lambda settings: {import_api.PATH: settings.import_max_body},
)

if __name__ == "__main__":
    main(SERVICE)
