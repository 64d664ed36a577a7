"""Run the inventory service: ``python -m services.inventory``."""

from services.eventkit.service import Service, main
from services.eventkit.settings import ServiceSettings
from services.inventory import api
from services.inventory.handlers import HANDLERS
from services.inventory.store import InventoryStore

SERVICE = Service(
    name="inventory",
    settings=ServiceSettings,
    handlers=HANDLERS,
    store=InventoryStore(),
    routes=api.routes,
)

if __name__ == "__main__":
    main(SERVICE)
