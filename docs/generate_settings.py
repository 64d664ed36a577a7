"""Make docs/settings.md from the code: ``python -m docs.generate_settings [--check]``.

What a setting is for is said where it is declared; here it only becomes a table.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic_settings import BaseSettings

from docs.generated import finish
from services.analytics.settings import AnalyticsSettings
from services.email.settings import EmailSettings
from services.eventkit.settings import PREFIX, ClientSettings, ProcessSettings, ServiceSettings
from services.inventory.settings import InventorySettings
from services.order.settings import Budgets, OrderSettings
from services.payment.settings import PaymentSettings
from services.projector.settings import AgentSettings, ApiSettings

TARGET = Path(__file__).parent / "settings.md"

SECTIONS: Mapping[str, tuple[type[BaseSettings], ...]] = {
    "Every process": (ProcessSettings,),
    "Every service": (ServiceSettings,),
    "Services whose clients wait: order, inventory, analytics": (ClientSettings,),
    "Order": (Budgets, OrderSettings),
    "Inventory": (InventorySettings,),
    "Payment": (PaymentSettings,),
    "Email": (EmailSettings,),
    "Analytics": (AnalyticsSettings,),
    "The read model's API, and its agent": (ApiSettings,),
    "The read model's agent": (AgentSettings,),
}
"""Every class of settings by the title of its table, which has what the class itself declares."""

PAGE = """# Settings

Made from the code by `python -m docs.generate_settings`; a test keeps it up to date. Settings come
from the environment, and for what is not there from the file that `SAGA_SETTINGS_FILE` names. One
that is wrong or missing stops the process at its start and is named. A setting given to `make up`
reaches all services (`SAGA_LOG_LEVEL=DEBUG make up`); how containers get theirs is in
[containers.md](containers.md#settings-and-keys).

Times are in seconds. A setting without a default must be given; `make up` and `docker compose` give
all of them. A table that names a setting of an earlier one has another default for it.

{tables}
What is refused where a limit is reached: [operations.md](operations.md#tenants-and-limits).
"""


def render() -> str:
    """The whole page."""
    return PAGE.format(tables="\n".join(_table(*section) for section in SECTIONS.items()))


def _table(title: str, classes: tuple[type[BaseSettings], ...]) -> str:
    rows = "".join(
        f"| `{PREFIX}{name.upper()}` | {_default(field)} | {_text(field)} |\n"
        for declared in classes
        for name, field in declared.model_fields.items()
        if name in vars(declared)["__annotations__"]
    )
    return f"## {title}\n\n| Setting | Default | What it is |\n| --- | --- | --- |\n{rows}"


def _default(field: Any) -> str:
    if field.is_required():
        return ""
    match field.default:
        case None | "":
            return "empty"
        case tuple(names):
            return f"`{','.join(names)}`"
        case bool(value):
            return f"`{str(value).lower()}`"
        case float(value):
            return f"`{value:g}`"
        case value:
            return f"`{value}`"


def _text(field: Any) -> str:
    return " ".join(field.description.split())


if __name__ == "__main__":
    sys.exit(finish(TARGET, render(), "docs.generate_settings"))
