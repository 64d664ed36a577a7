"""The currencies that an order may be in."""

from typing import Final

from iso4217 import Currency

# Codes with minor units: funds, metals and test codes have none and are no way to pay.
KNOWN: Final = frozenset(currency.code for currency in Currency if currency.exponent is not None)
