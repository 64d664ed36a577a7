"""Order lines as they are typed: ``sku:quantity:price``."""

from typing import Any

from services.orderctl.errors import CliError

Line = dict[str, Any]


def parse_line(text: str) -> Line:
    """``MUG-1:2:1250`` -> two of MUG-1 at 12.50 (the price is in minor units)."""
    parts = text.rsplit(":", 2)
    if len(parts) != 3 or not parts[0]:
        raise CliError(f"--line {text!r} is not sku:quantity:price", "e.g. --line MUG-1:2:1250", 2)
    sku, quantity, price = parts
    try:
        return {"sku": sku, "quantity": int(quantity), "unit_price": int(price)}
    except ValueError as error:
        raise CliError(
            f"--line {text!r}: quantity and price are whole numbers, the price in minor units",
            "e.g. --line MUG-1:2:1250 is two at 12.50",
            code=2,
        ) from error
