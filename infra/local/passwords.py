"""The passwords of the stack, made at its first start."""

import secrets

from infra.local.layout import Layout, write_private
from infra.names import SERVICES, role

PROVIDER_WEBHOOK = "provider_webhook"
"""Signs what the payment provider tells by itself."""
ACCOUNTS = ("postgres", "debezium", "auditor", "registry_svc", *(role(name) for name in SERVICES))
NAMES = (*ACCOUNTS, PROVIDER_WEBHOOK)


def load_or_make(layout: Layout) -> dict[str, str]:
    """Each database role's password by the role's name, and other secrets by theirs.

    They are kept in ``secrets.env`` (mode 0600).
    """
    known = read(layout)
    missing = [account for account in NAMES if account not in known]
    if missing:
        known |= {account: secrets.token_hex(20) for account in missing}
        lines = [f"{account}={known[account]}\n" for account in NAMES]
        write_private(layout.secrets, "".join(lines))
    return known


def read(layout: Layout) -> dict[str, str]:
    """The passwords made so far; empty before the first start."""
    if not layout.secrets.exists():
        return {}
    lines = layout.secrets.read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)
