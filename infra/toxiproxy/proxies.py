"""Which connections go through Toxiproxy, and its configuration."""

import json
from collections.abc import Callable
from typing import Final

FRONTS: Final = {
    "postgres": "postgres_proxy",
    "kafka": "kafka_proxy",
    "payment_provider": "payment_provider_proxy",
    "mail_smtp": "mail_smtp_proxy",
}
"""A part of the stack -> the port that stands in front of it, as `infra/ports.toml` names both."""

# The broker tells its clients where it is, so those that come through the proxy need a listener of
# their own that says the proxy's address.
BEHIND: Final = {"kafka": "kafka_proxied"}


def configuration(address: Callable[[str], str]) -> str:
    """The file Toxiproxy reads at its start; ``address`` gives a port's ``host:port`` by name."""
    proxies = [
        {
            "name": part,
            "listen": address(front),
            "upstream": address(BEHIND.get(part, part)),
            "enabled": True,
        }
        for part, front in FRONTS.items()
    ]
    return json.dumps(proxies, indent=2)
