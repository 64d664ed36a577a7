"""Where a proxied stack's connections go."""

import json
from pathlib import Path

import pytest

from infra.local import ports
from infra.local.fetch import Distributions
from infra.local.java import Java
from infra.local.layout import ROOT, Layout
from infra.local.postgres_home import PostgresHome
from infra.local.programs import all_programs
from infra.local.stack import Stack
from infra.names import SERVICES, role
from infra.toxiproxy.proxies import FRONTS, configuration

PORTS = ports.load({})


def stack(toxiproxy: Path | None) -> Stack:
    """A stack of which nothing runs."""
    here = Path("/nowhere")
    accounts = ("debezium", "auditor", "registry_svc", *map(role, SERVICES))
    return Stack(
        layout=Layout(here, here),
        data=here,
        ports=PORTS,
        passwords=dict.fromkeys((*accounts, "provider_webhook"), "secret"),
        java=Java(here),
        distributions=Distributions(here, here, here),
        postgres=PostgresHome(data=here, binaries=here, account=None),
        fronts=FRONTS if toxiproxy else {},
        toxiproxy=toxiproxy,
    )


def test_every_proxy_stands_on_this_machine_in_front_of_what_it_is_named_after() -> None:
    proxies = {p["name"]: p for p in json.loads(configuration(PORTS.address))}
    assert proxies.keys() == FRONTS.keys()
    assert all(p["listen"].startswith("127.0.0.1:") for p in proxies.values())
    assert proxies["postgres"]["upstream"] == PORTS.address("postgres")
    # Through its own listener, or the broker would tell clients the way around the proxy.
    assert proxies["kafka"]["upstream"] == PORTS.address("kafka_proxied")


@pytest.mark.parametrize("part", FRONTS)
def test_a_stack_is_proxied_only_where_it_is_told_to_be(part: str) -> None:
    assert stack(None).inside(part) == PORTS.address(part)
    assert stack(Path("/toxiproxy")).inside(part) == PORTS.address(FRONTS[part])


def test_no_process_of_a_proxied_stack_goes_around_the_proxy() -> None:
    around = {PORTS.address(part) for part in FRONTS} | {str(PORTS["mail_smtp"])}
    for program in all_programs(stack(Path("/toxiproxy"))):
        if program.name != "mail-sink":
            settings = (*program.command, *program.environment.values())
            assert not [text for text in settings for place in around if place in text]


def test_the_pinned_version_is_the_documented_one() -> None:
    module = (ROOT / "infra/toxiproxy/module/go.mod").read_text()
    assert "github.com/Shopify/toxiproxy/v2 v2.12.0" in module
    assert "tool github.com/Shopify/toxiproxy/v2/cmd/server" in module
