"""Every service keeps to its own OpenAPI description, whatever it is asked."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import positive_data_acceptance

from infra.names import SERVICES
from tests.live_stack import LiveStack
from tests.saga.support.orderctl import orderctl, orderctl_json

PROFILE = settings(
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
LONG = (pytest.mark.long, pytest.mark.timeout(1800))
ENDLESS = r"/orders(/{order_id})?/events$"
DECISIONS = r"/operations/.*/(redrive|discard)$"
"""These act on letters and jobs of other tests."""
BEYOND = positive_data_acceptance
"""A description cannot say everything: that a SKU comes once, what a cursor is."""


@schemathesis.serializer("text/csv")
def csv_file(_: schemathesis.SerializationContext, value: Any) -> bytes:
    """A file is sent as it was made up."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


@pytest.fixture(scope="module")
def key(stack: LiveStack) -> Iterator[str]:
    """The API key of a tenant that nobody else uses, and that may operate."""
    made = orderctl_json("keys", "create", "schemathesis", "--operator")
    yield made["key"]
    assert orderctl("keys", "revoke", made["id"]).returncode == 0


@pytest.mark.parametrize("cases", [15, pytest.param(100, marks=LONG)])
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("service", SERVICES)
def test_no_answer_is_undocumented_and_none_is_a_failure(
    stack: LiveStack, key: str, service: str, mode: GenerationMode, cases: int
) -> None:
    """Requests that fit the description, and requests that do not; so many an operation."""
    url, headers = stack.url(service), {"Authorization": f"Bearer {key}"}
    found = httpx.get(f"{url}/openapi.json", timeout=30).json()
    for described in _operations(found):
        for parameter in described.get("parameters", ()):
            if parameter["name"] in ("wait", "after") and "minimum" in parameter["schema"]:
                parameter["schema"]["maximum"] = 0  # nobody waits for what will not come
        described.pop("security", None)  # a key is not needed here: see the open tenant
    api = schemathesis.openapi.from_dict(found)
    api.config.update(base_url=url)
    for result in api.exclude(path_regex=f"({ENDLESS})|({DECISIONS})").get_all_operations():
        assert isinstance(result, Ok), result
        operation = result.ok()

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(PROFILE, max_examples=cases)
        def each(case: schemathesis.Case[Any]) -> None:
            case.call_and_validate(headers=headers, excluded_checks=[BEYOND], timeout=90)

        with suppress(Unsatisfiable):  # what takes nothing cannot be given anything wrong
            each()


def _operations(api: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for methods in api["paths"].values():
        yield from methods.values()
