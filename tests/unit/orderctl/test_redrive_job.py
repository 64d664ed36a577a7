"""A job is started over by the service that has it, however many others there are."""

from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from services.orderctl.client import Http, Shop
from services.orderctl.errors import NOT_ANSWERING, CliError
from services.orderctl.operations import Operations
from services.orderctl.verify.databases import EMITTERS

JOB = "4f0b54b3-a46d-5e4b-8a9f-3e1d2c3b4a5f"


class Service(Http):
    """Answers as if it had the job, had not, or were away."""

    def __init__(self, state: str) -> None:
        super().__init__(state, "http://nowhere")
        self.state = state

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        if self.state == "away":
            raise CliError("it does not answer", code=NOT_ANSWERING)
        assert (method, path) == ("POST", f"/operations/jobs/{JOB}/redrive")
        job = {"job_id": JOB, "key": "k", "status": "pending"}
        return httpx.Response(200, json=job) if self.state == "has" else httpx.Response(404)


def operations(**states: str) -> Operations:
    names = {"orders": "order"} | {name: name for name in EMITTERS if name != "order"}
    services = {field: Service(states.get(name, "lacks")) for field, name in names.items()}
    return Operations(cast(Shop, SimpleNamespace(**services)), "anna", "why")


def test_each_is_asked_for_it() -> None:
    found = operations(email="has").redrive_job_of(EMITTERS, JOB)
    assert found is not None and (found.service, found.status, found.well) == (
        "email",
        "pending",
        True,
    )


def test_one_that_is_away_hides_no_other() -> None:
    found = operations(order="away", analytics="has").redrive_job_of(EMITTERS, JOB)
    assert found is not None and found.service == "analytics"


def test_nobody_has_it_is_said_only_where_all_were_asked() -> None:
    assert operations().redrive_job_of(EMITTERS, JOB) is None
    with pytest.raises(CliError) as raised:
        operations(order="away").redrive_job_of(EMITTERS, JOB)
    assert raised.value.code == NOT_ANSWERING
