"""What a payment token asks of the provider.

A token is one or more parts joined by dots, such as ``tok_slow_2000.refund_fails``.
"""

import re
from dataclasses import dataclass, replace

CARD_DECLINED = "card_declined"
FOR_EVER = 1_000_000
UNKNOWN_TOKEN = "unknown_token"  # noqa: S105 - a reason, not a secret

_NUMBERED = re.compile(r"(tok_slow|tok_async|tok_flaky|refund_flaky|refund_fails)_(\d{1,6})")


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How charges and refunds under a token go.

    ``slow_ms`` milliseconds pass before a charge is settled; ``hold_first`` keeps the first
    answer back; the first ``flaky`` charges and ``refund_flaky`` refunds are answered with 503; the
    first ``refund_fails`` refunds are refused for good. ``notify`` has the result told by a
    webhook; ``at_once`` answers before there is one.
    """

    decline_reason: str | None = None
    slow_ms: int = 0
    hold_first: bool = False
    flaky: int = 0
    refund_fails: int = 0
    refund_flaky: int = 0
    notify: bool = False
    at_once: bool = False


def behaviour_of(token: str) -> Behaviour:
    """Read a token; one with a part nobody knows is declined as ``unknown_token``."""
    behaviour = Behaviour()
    for part in token.split("."):
        behaviour = _with_part(behaviour, part)
    return behaviour


def _with_part(behaviour: Behaviour, part: str) -> Behaviour:
    match part:
        case "tok_ok":
            return behaviour
        case "tok_declined":
            return replace(behaviour, decline_reason=behaviour.decline_reason or CARD_DECLINED)
        case "tok_timeout_then_ok":
            return replace(behaviour, hold_first=True)
        case "notify":
            return replace(behaviour, notify=True)
        case "refund_fails":
            return replace(behaviour, refund_fails=FOR_EVER)
    numbered = _NUMBERED.fullmatch(part)
    if numbered is None:
        return replace(behaviour, decline_reason=UNKNOWN_TOKEN)
    number = int(numbered[2])
    match numbered[1]:
        case "tok_slow":
            return replace(behaviour, slow_ms=number)
        case "tok_async":
            return replace(behaviour, slow_ms=number, notify=True, at_once=True)
        case "tok_flaky":
            return replace(behaviour, flaky=number)
        case "refund_fails":
            return replace(behaviour, refund_fails=number)
        case _:
            return replace(behaviour, refund_flaky=number)
