"""What each container is given to read, and what of it nobody else is given."""

import pytest

from infra.docker.files import all_files
from infra.docker.network import HOSTS, inside, published
from infra.kafka.cluster import new_cluster_id
from infra.local import ports
from infra.local.errors import StackError
from infra.local.passwords import NAMES, PROVIDER_WEBHOOK

PASSWORDS = {name: f"password-of-{name.replace('_', '-')}" for name in NAMES}
FILES = all_files(PASSWORDS, {"SAGA_PORTS": "333"})
SERVICE = {name: {f"{name}_svc"} for name in ("order", "inventory", "email", "analytics")}
KNOWS = {
    **SERVICE,
    "payment": {"payment_svc", PROVIDER_WEBHOOK},
    "payment-provider": {PROVIDER_WEBHOOK},
    "projector-agent": {"projector_svc"},
    "projector-api": {"projector_svc"},
    "postgres": {"postgres"},
    "registry": {"registry_svc"},
    "connect": {"debezium"},
    "orderctl": {"auditor", "debezium", "projector_svc", "analytics_svc"},
}


@pytest.mark.parametrize("container", FILES)
def test_a_container_is_told_its_own_passwords_only(container: str) -> None:
    text = "".join(FILES[container].values())
    assert {name for name in NAMES if PASSWORDS[name] in text} == KNOWS.get(container, set())


def test_processes_in_the_network_are_told_names_of_the_network() -> None:
    for container, named in FILES.items():
        for name, text in named.items():
            # Clients on the machine, and a person with a browser, come through published ports.
            if name == "outside.env":
                assert "127.0.0.1:33320" in text
                assert "broker:" not in text
                continue
            lines = [line for line in text.splitlines() if "127.0.0.1" in line]
            allowed = ("advertised.listeners", "SAGA_JAEGER_URL")
            if container in ("broker", "order"):
                assert all(line.startswith(allowed) for line in lines)
                assert all(":333" in line for line in lines)
            else:
                assert lines == []


def test_every_part_has_a_place_in_the_network_or_is_of_the_embedded_stack_only() -> None:
    embedded = {name for name in ports.load({}) if "toxiproxy" in name or name.endswith("_proxy")}
    assert HOSTS.keys() == ports.load({}).keys() - embedded


def test_published_ports_keep_their_last_two_digits() -> None:
    assert published({})["kafka"] == ports.load({})["kafka"]
    assert published({"SAGA_PORTS": "333"})["kafka"] == 33320
    with pytest.raises(StackError):
        published({"SAGA_PORTS": "7000"})


def test_a_connector_finds_its_database_by_name() -> None:
    assert inside(PASSWORDS).inside_host_and_port("postgres") == ("postgres", 21825)


def test_no_cluster_id_looks_like_an_option() -> None:
    ids = {new_cluster_id() for _ in range(2000)}
    assert len(ids) == 2000
    assert not [one for one in ids if one.startswith("-") or len(one) != 22]
