"""What a client may ask for; anything else is answered with 422 naming the field."""

from typing import Annotated

from fastapi import Header
from pydantic import BaseModel, ConfigDict, Field

MAX_AMOUNT = 10**15

Amount = Annotated[int, Field(gt=0, le=MAX_AMOUNT, strict=True)]
Key = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")]
KeyHeader = Annotated[
    str, Header(alias="Idempotency-Key", min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")
]


class ChargeAsk(BaseModel):
    """A charge of ``amount`` minor units; ``reference`` is the merchant's own (the order id)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    amount: Amount = Field(examples=[4200])
    currency: str = Field(pattern=r"^[A-Z]{3}$", examples=["EUR"])
    token: str = Field(min_length=1, max_length=200, examples=["tok_ok"])
    reference: str = Field(min_length=1, max_length=200)


class RefundAsk(BaseModel):
    """A refund of ``amount`` minor units of the charge made under ``charge_key``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    charge_key: Key
    amount: Amount
