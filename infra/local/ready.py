"""Whether each process of the stack does its work, asked of the process itself."""

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import httpx
import psycopg
import requests
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from infra.connect import connectors
from infra.connect.rest import NotYet
from infra.jaeger import binary
from infra.local import postgres
from infra.local.stack import Stack
from infra.names import EMITTERS
from infra.wiring import Wiring

SECONDS = 2.0
# One client: making one costs more than asking. What is on this machine is never behind a proxy.
CLIENT = httpx.Client(timeout=SECONDS, trust_env=False)
Check = Callable[[], str]


def checks(stack: Stack) -> dict[str, Check]:
    """For each process a check that returns why it is not ready, or nothing when it is.

    Connect counts as ready only when every connector reads its database.
    """
    return {**bare_checks(stack), "connect": partial(reading, stack)}


def not_ready(stack: Stack) -> dict[str, str]:
    """Each process, in the order of the table, and why it is not ready; empty when it is."""
    named = checks(stack)
    with ThreadPoolExecutor(len(named)) as pool:
        return dict(zip(named, pool.map(lambda check: check(), named.values()), strict=True))


def bare_checks(stack: Stack) -> dict[str, Check]:
    """The same of each process alone, before anything is asked of it."""
    proxy = {"toxiproxy": partial(http, stack.url("toxiproxy") + "/version")}
    jaeger = {"jaeger": partial(_jaeger, stack)}
    return (proxy if stack.toxiproxy else {}) | common_checks(stack) | jaeger


def common_checks(system: Wiring) -> dict[str, Check]:
    """The checks of what is asked the same way wherever it runs."""
    url = system.url
    return {
        "postgres": partial(_postgres, system),
        "broker": partial(broker, system.address("kafka")),
        "registry": partial(http, url("registry_management") + "/health/ready"),
        "connect": partial(http, url("connect") + "/connectors"),
        "connect-guardian": partial(http, url("connect_guardian") + "/health/live"),
        "jaeger": partial(http, url("jaeger") + "/api/services"),
        "payment-provider": partial(http, url("payment_provider") + "/health/ready"),
        "mail-sink": partial(http, url("mail_http") + "/health/ready"),
        **{name: partial(http, url(name) + "/health/ready") for name in EMITTERS},
        "projector-agent": partial(http, url("projector_agent") + "/health/ready"),
        "projector-api": partial(http, url("projector") + "/health/ready"),
    }


def _postgres(system: Wiring) -> str:
    return "" if postgres.answers(system) else "takes no connections"


def reading(system: Wiring) -> str:
    """Why not every connector reads its database, or nothing."""
    url = system.url("connect")
    if why := http(url + "/connectors"):
        return why
    try:
        found = connectors.problems(url, system.slots_url)
    except (NotYet, requests.RequestException, psycopg.OperationalError) as error:
        return str(error)
    return "; ".join(f"{service}: {problem}" for service, problem in found.items())


def _jaeger(stack: Stack) -> str:
    why = http(stack.url("jaeger") + "/api/services")
    return why and (binary.status(stack.layout.cache) or why)


def broker(bootstrap: str) -> str:
    """Why the broker cannot be used, or nothing."""
    host, port = bootstrap.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), SECONDS).close()
    except OSError as error:
        return str(error)
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    try:
        client.list_topics(timeout=SECONDS)
    except KafkaException as error:
        return str(error.args[0].str())
    return ""


def http(url: str) -> str:
    """Why an address does not answer 2xx, or nothing."""
    try:
        answer = CLIENT.get(url)
    except httpx.HTTPError as error:
        return str(error) or type(error).__name__
    return "" if answer.is_success else f"answered {answer.status_code}: {_reasons(answer)}"


def _reasons(answer: httpx.Response) -> str:
    text = " ".join(answer.text.split())
    return text if len(text) <= 200 else text[:200] + "…"
