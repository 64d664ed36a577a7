"""Where a webhook may point: the outside, never a machine of ours.

Names are resolved here, every address is checked, and the connection goes to the address that was
checked: a name that changes its mind between the check and the call leads nowhere else.
"""

import ipaddress
import socket
from collections.abc import Sequence

import httpx

_NOT_OUTSIDE = tuple(
    map(
        ipaddress.ip_network,
        (
            "64:ff9b::/96",  # the first three stand for an IPv4 address behind a gateway
            "64:ff9b:1::/48",
            "2002::/16",
            "192.88.99.0/24",  # such gateways themselves, as it was once thought
            "3fff::/20",  # for documentation
            "fec0::/10",  # what was private before fc00::/7
        ),
    )
)
"""What the standard library takes for global and is not, in the oldest version we run on."""


class Forbidden(Exception):
    """The target is not allowed."""


def check_url(url: str, private_allowed: bool) -> None:
    """Raises `Forbidden` where a URL can be no webhook; a name is resolved when it is called."""
    if not url.isprintable() or " " in url:
        raise Forbidden("must not have white space or control characters")
    try:
        parts = httpx.URL(url)  # as it is read when it is called
        parts.raw_host.decode().encode("idna")
        host = parts.host
        has_port = parts.port is None or 0 < parts.port < 65_536
    except (ValueError, httpx.InvalidURL) as error:
        raise Forbidden("is no URL") from error
    if parts.scheme != "https" and not (private_allowed and parts.scheme == "http"):
        raise Forbidden("must begin with https://")
    if not host or parts.userinfo or parts.fragment or not has_port:
        raise Forbidden("must have a host, and neither a user nor a fragment")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return
    if not private_allowed and not is_public(address):
        raise Forbidden("must not be a private address")


def is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an address is one machine of the outside, for sure."""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return is_public(address.ipv4_mapped)
    if any(address in network for network in _NOT_OUTSIDE):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def resolved(url: httpx.URL, private_allowed: bool) -> str:
    """An address of a URL's host. Raises `Forbidden` where one is private, OSError for none."""
    port = url.port or (443 if url.scheme == "https" else 80)
    host = url.raw_host.decode()
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses: Sequence[str] = [str(entry[4][0]) for entry in found]
    if not private_allowed:
        for address in addresses:
            if not is_public(ipaddress.ip_address(address.partition("%")[0])):
                raise Forbidden(f"{host} is {address}, which is not public")
    return addresses[0]
