import pytest

from services.orderctl.errors import CliError
from services.orderctl.lines import parse_line


def test_a_line_is_sku_quantity_price() -> None:
    assert parse_line("MUG-1:2:1250") == {"sku": "MUG-1", "quantity": 2, "unit_price": 1250}


def test_a_sku_may_hold_colons() -> None:
    assert parse_line("a:b:2:1")["sku"] == "a:b"


@pytest.mark.parametrize("text", ["MUG", "MUG:2", ":2:1", "MUG:two:1", "MUG:2:12.50"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(CliError, match="--line"):
        parse_line(text)
