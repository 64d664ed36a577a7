"""Whether each process of the stack does its work, asked of the process itself."""

from collections.abc import Callable
from functools import partial

import httpx
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from infra.local import postgres
from infra.local.stack import Stack
from infra.names import EMITTERS

SECONDS = 2.0
Check = Callable[[], str]


def checks(stack: Stack) -> dict[str, Check]:
    """For each process a check that returns why it is not ready, or nothing when it is."""
    ports = stack.ports
    return {
        "postgres": partial(_postgres, stack),
        "broker": partial(broker, ports.address("kafka")),
        "registry": partial(http, ports.url("registry_management") + "/health/ready"),
        "connect": partial(http, ports.url("connect") + "/connectors"),
        "jaeger": partial(http, ports.url("jaeger") + "/api/services"),
        "payment-provider": partial(http, ports.url("payment_provider") + "/health/ready"),
        "mail-sink": partial(http, ports.url("mail_http") + "/health/ready"),
        **{name: partial(http, ports.url(name) + "/health/ready") for name in EMITTERS},
        "projector-agent": partial(http, ports.url("projector_agent") + "/health/ready"),
        "projector-api": partial(http, ports.url("projector") + "/health/ready"),
    }


def _postgres(stack: Stack) -> str:
    return "" if postgres.answers(stack) else "takes no connections"


def broker(bootstrap: str) -> str:
    """Why the broker cannot be used, or nothing."""
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    try:
        client.list_topics(timeout=SECONDS)
    except KafkaException as error:
        return str(error.args[0].str())
    return ""


def http(url: str) -> str:
    """Why an address does not answer 2xx, or nothing."""
    try:
        answer = httpx.get(url, timeout=SECONDS)
    except httpx.HTTPError as error:
        return str(error) or type(error).__name__
    return "" if answer.is_success else f"answered {answer.status_code}: {_reasons(answer)}"


def _reasons(answer: httpx.Response) -> str:
    text = " ".join(answer.text.split())
    return text if len(text) <= 200 else text[:200] + "…"
