"""Where a webhook may point."""

import ipaddress

import pytest

from services.order import targets
from services.order.calling import Caller


@pytest.mark.parametrize(
    "url",
    [
        "http://shop.example/hook",
        "ftp://shop.example",
        "https://",
        "https://user:word@shop.example",
        "https://shop.example/#part",
        "https://shop.example:0/",
        "https://shop.example:99999/",
        "https://[::1",
        "https://127.0.0.1/",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://[64:ff9b::a00:1]/",
        "https://0.0.0.0/",
        " https://shop.example/",
        "https://shop.example/\n",
        "ht\ttps://shop.example/",
        "https://shop.example/a b",
        "https://shop.example/\x00",
        "https://shop.example/\u2028",
        "https://shop..example/",
        f"https://{'a' * 64}.example/",
        "https://xn--/",
    ],
)
def test_a_webhook_may_not_point_there(url: str) -> None:
    with pytest.raises(targets.Forbidden):
        targets.check_url(url, private_allowed=False)


def test_a_webhook_may_point_outside() -> None:
    targets.check_url("https://shop.example:8443/hook?a=1", private_allowed=False)
    targets.check_url("http://127.0.0.1:9/hook", private_allowed=True)
    targets.check_url("https://bücher.example/hook", private_allowed=False)
    targets.check_url("https://[2606:4700::1111]:8443/", private_allowed=False)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:4700:4700::1111", True),
        ("::ffff:93.184.216.34", True),
        ("127.0.0.1", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("192.88.99.1", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::", False),
        ("::ffff:192.88.99.1", False),
        ("::10.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("64:ff9b:1::1", False),
        ("2001:db8::1", False),
        ("2002:a00:1::1", False),
        ("3fff::1", False),
        ("3fff:fff::1", False),
        ("fc00::1", False),
        ("fe80::1", False),
        ("fec0::1", False),
        ("feff::1", False),
        ("ff02::1", False),
    ],
)
def test_only_what_is_outside_for_sure_is_public(address: str, public: bool) -> None:
    assert targets.is_public(ipaddress.ip_address(address)) == public


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "2130706433", "0x7f.1"])
def test_a_name_that_leads_to_this_machine_is_refused_when_it_is_called(host: str) -> None:
    caller = Caller(private_allowed=False, timeout=1)
    with pytest.raises((targets.Forbidden, OSError)):
        caller.post(f"http://{host}:9/", "{}", {})
