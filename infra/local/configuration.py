"""The configuration of broker, Connect and Jaeger, from the templates in ``infra``."""

from infra.local.ports import HOST
from infra.local.render import template, write_if_changed
from infra.local.stack import Stack
from infra.toxiproxy import proxies
from infra.wiring import Wiring


def write(stack: Stack) -> None:
    """Write what the broker, Connect and Jaeger read; PostgreSQL's files are in its own folder."""
    second = (stack.address("kafka_proxied"), stack.inside("kafka")) if stack.toxiproxy else None
    texts = {
        "broker.properties": broker(stack, str(stack.layout.data / "kafka"), second),
        "connect.properties": connect(stack, str(stack.distributions.connect_plugins)),
        "jaeger.yaml": jaeger(stack),
    }
    if stack.toxiproxy:
        texts["toxiproxy.json"] = proxies.configuration(stack.address)
    for name, text in texts.items():
        write_if_changed(stack.layout.conf / name, text)


def broker(wiring: Wiring, data: str, second: tuple[str, str] | None = None) -> str:
    """``broker.properties``; ``second`` is where it listens besides, and what it says of that."""
    listens, says = (f",SECOND://{address}" for address in second) if second else ("", "")
    return template(
        "kafka/broker.properties",
        {
            "broker": wiring.address("kafka"),
            "controller": wiring.address("kafka_controller"),
            "data": data,
            "also_listens": listens,
            "also_advertised": says,
        },
    )


def connect(wiring: Wiring, plugins: str) -> str:
    """``connect.properties``."""
    return template(
        "connect/worker.properties",
        {
            "broker": wiring.inside("kafka"),
            "connect": wiring.address("connect"),
            "host": wiring.hosts.get("connect", HOST),
            "port": wiring.ports["connect"],
            "plugins": plugins,
        },
    )


def jaeger(wiring: Wiring) -> str:
    """``jaeger.yaml``."""
    parts = ("jaeger", "jaeger_grpc", "jaeger_health", "otlp_grpc", "otlp_http")
    return template(
        "jaeger/jaeger.yaml",
        {
            "host": wiring.hosts.get("jaeger_metrics", HOST),
            "metrics_port": wiring.ports["jaeger_metrics"],
            **{part: wiring.address(part) for part in parts},
        },
    )
