"""The Toxiproxy server: TOXIPROXY_BIN, else `toxiproxy-server` on PATH, else built once."""

from pathlib import Path

from infra.local.go_binary import GoBinary

TOXIPROXY = GoBinary(
    name="toxiproxy",
    variable="TOXIPROXY_BIN",
    command="toxiproxy-server",
    module=Path(__file__).parent / "module",
    package="github.com/Shopify/toxiproxy/v2/cmd/server",
)
