import pytest

from infra.local import ports
from infra.local.errors import StackError


def test_ports_are_offsets_from_one_base() -> None:
    plan = ports.load({})
    assert plan["order"] == plan.base
    assert plan["postgres"] == plan.base + 25
    assert plan.url("order") == f"http://127.0.0.1:{plan.base}"
    assert plan.address("kafka") == f"127.0.0.1:{plan.base + 20}"


def test_two_bases_a_thousand_apart_share_no_port() -> None:
    one, other = ports.load({"PORT_BASE": "21800"}), ports.load({"PORT_BASE": "22800"})
    assert not set(one.values()) & set(other.values())


@pytest.mark.parametrize("base", ["80", "65535", "22k", "-5"])
def test_a_base_that_leaves_no_room_is_refused_by_name(base: str) -> None:
    with pytest.raises(StackError, match=f"PORT_BASE={base}"):
        ports.load({"PORT_BASE": base})
