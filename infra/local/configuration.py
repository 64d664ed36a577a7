"""Writes the configuration files of one stack from the templates in ``infra``."""

from infra.local.ports import HOST
from infra.local.render import template, write_if_changed
from infra.local.stack import Stack
from infra.toxiproxy import proxies


def write(stack: Stack) -> None:
    """Write what the broker, Connect and Jaeger read; PostgreSQL's files are in its own folder."""
    ports, conf = stack.ports, stack.layout.conf
    texts = {
        "broker.properties": template(
            "kafka/broker.properties",
            {
                "broker": ports.address("kafka"),
                "controller": ports.address("kafka_controller"),
                "data": str(stack.layout.data / "kafka"),
                **_second_listener(stack),
            },
        ),
        "connect.properties": template(
            "connect/worker.properties",
            {
                "broker": stack.inside("kafka"),
                "connect": ports.address("connect"),
                "host": HOST,
                "port": ports["connect"],
                "plugins": str(stack.distributions.connect_plugins),
            },
        ),
        "jaeger.yaml": template(
            "jaeger/jaeger.yaml",
            {
                "host": HOST,
                "metrics_port": ports["jaeger_metrics"],
                "jaeger": ports.address("jaeger"),
                "jaeger_grpc": ports.address("jaeger_grpc"),
                "jaeger_health": ports.address("jaeger_health"),
                "otlp_grpc": ports.address("otlp_grpc"),
                "otlp_http": ports.address("otlp_http"),
            },
        ),
    }
    if stack.toxiproxy:
        texts["toxiproxy.json"] = proxies.configuration(ports.address)
    for name, text in texts.items():
        write_if_changed(conf / name, text)


def _second_listener(stack: Stack) -> dict[str, str]:
    if stack.toxiproxy is None:
        return {"also_listens": "", "also_advertised": ""}
    return {
        "also_listens": f",PROXIED://{stack.ports.address('kafka_proxied')}",
        "also_advertised": f",PROXIED://{stack.inside('kafka')}",
    }
