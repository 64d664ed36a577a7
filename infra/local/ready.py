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

SECONDS = 2.0
# One client: making one costs more than asking. What is on this machine is never behind a proxy.
CLIENT = httpx.Client(timeout=SECONDS, trust_env=False)
Check = Callable[[], str]


def checks(stack: Stack) -> dict[str, Check]:
    """For each process a check that returns why it is not ready, or nothing when it is.

    Connect counts as ready only when every connector reads its database.
    """
    return {**bare_checks(stack), "connect": partial(_connectors, stack)}


def not_ready(stack: Stack) -> dict[str, str]:
    """Each process, in the order of the table, and why it is not ready; empty when it is."""
    named = checks(stack)
    with ThreadPoolExecutor(len(named)) as pool:
        return dict(zip(named, pool.map(lambda check: check(), named.values()), strict=True))


def bare_checks(stack: Stack) -> dict[str, Check]:
    """The same of each process alone, before anything is asked of it."""
    ports = stack.ports
    proxy = {"toxiproxy": partial(http, ports.url("toxiproxy") + "/version")}
    return {
        **(proxy if stack.toxiproxy else {}),
        "postgres": partial(_postgres, stack),
        "broker": partial(broker, ports.address("kafka")),
        "registry": partial(http, ports.url("registry_management") + "/health/ready"),
        "connect": partial(http, ports.url("connect") + "/connectors"),
        "connect-guardian": partial(http, ports.url("connect_guardian") + "/health/live"),
        "jaeger": partial(_jaeger, stack),
        "payment-provider": partial(http, ports.url("payment_provider") + "/health/ready"),
        "mail-sink": partial(http, ports.url("mail_http") + "/health/ready"),
        **{name: partial(http, ports.url(name) + "/health/ready") for name in EMITTERS},
        "projector-agent": partial(http, ports.url("projector_agent") + "/health/ready"),
        "projector-api": partial(http, ports.url("projector") + "/health/ready"),
    }


def _postgres(stack: Stack) -> str:
    return "" if postgres.answers(stack) else "takes no connections"


def _connectors(stack: Stack) -> str:
    url = stack.ports.url("connect")
    if why := http(url + "/connectors"):
        return why
    try:
        found = connectors.problems(url, stack.slots_url)
    except (NotYet, requests.RequestException, psycopg.OperationalError) as error:
        return str(error)
    return "; ".join(f"{service}: {problem}" for service, problem in found.items())


def _jaeger(stack: Stack) -> str:
    why = http(stack.ports.url("jaeger") + "/api/services")
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
