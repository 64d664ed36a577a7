"""Which contacts the API takes."""

import pytest
from pydantic import ValidationError

from services.email.api import ContactBody

GOOD = {"name": "Ada", "address": "ada@shop.example"}


@pytest.mark.parametrize(
    "address",
    [
        "ada@shop.example",
        "a.d-a+tag_1@mail.shop.example",
        "slow-2000.ada@shop.example",
        f"{'a' * 64}@shop.example",
        f"a@{'b' * 63}.example",
    ],
)
def test_an_address_is_taken(address: str) -> None:
    assert ContactBody.model_validate({**GOOD, "address": address}).address == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ada",
        "@shop.example",
        "ada@",
        "ada@shop",
        "ada@@shop.example",
        "ada@shop..example",
        "ada@-shop.example",
        ".ada@shop.example",
        "ada.@shop.example",
        "a..da@shop.example",
        "a da@shop.example",
        "ada@shop.example\n",
        "ada@shop.example\r\nBcc: all@shop.example",
        "Ada <ada@shop.example>",
        "ada@shop.example,eve@shop.example",
        "zoë@shop.example",
        f"{'a' * 65}@shop.example",
        f"a@{'b' * 64}.example",
        f"a@{'b.' * 126}example",
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ValidationError, match="address"):
        ContactBody.model_validate({**GOOD, "address": address})


@pytest.mark.parametrize("name", ["Ada Lovelace", "Zoë", "山田 太郎", "O'Neill, Jr.", "x" * 100])
def test_a_name_is_taken(name: str) -> None:
    assert ContactBody.model_validate({**GOOD, "name": name}).name == name


@pytest.mark.parametrize(
    "name",
    ["", "   ", "Eve\nBcc: x", "Eve\r", "Eve\t", "Eve\x00", "Eve\u2028", "\ud800", "x" * 101],
)
def test_c64_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="name"):
        ContactBody.model_validate({**GOOD, "name": name})


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValidationError, match="phone"):
        ContactBody.model_validate({**GOOD, "phone": "1"})
