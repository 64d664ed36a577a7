"""Following long work: by tag, to its end, or until patience ends."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import httpx
import pytest

from services.orderctl import tasks
from services.orderctl.client import Http
from services.orderctl.commands.reports import _moment
from services.orderctl.errors import CliError

HTTP = Http("analytics", "http://127.0.0.1:1")


def work(status: str, percent: int) -> httpx.Response:
    told = {"status": status, "percent": percent, "reason": None}
    return httpx.Response(200, json=told, headers={"ETag": f'"{percent}"'})


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[httpx.Response]:
    """What the service answers next; the last one for ever. Each tag must be the last answer's."""
    found: list[httpx.Response] = []
    tags: list[str] = [""]

    def send(_: Http, method: str, path: str, **options: Any) -> httpx.Response:
        assert (method, path) == ("GET", "/reports/rep_1")
        assert options["headers"].get("If-None-Match", "") == tags[0]
        assert 0 <= options["params"]["wait"] <= 5
        answer = found.pop(0) if len(found) > 1 else found[0]
        tags[0] = answer.headers.get("ETag", tags[0])
        return answer

    monkeypatch.setattr(Http, "send", send)
    return found


def test_work_is_followed_to_its_end(answers: list[httpx.Response]) -> None:
    answers += [work("pending", 0), httpx.Response(304), work("running", 50), work("failed", 60)]
    assert tasks.follow(HTTP, "/reports/rep_1", "the report", 60)["status"] == "failed"


def test_work_that_takes_too_long_is_left_to_itself(answers: list[httpx.Response]) -> None:
    answers += [work("running", 50)]
    with pytest.raises(CliError, match="the report is not done after 0 s"):
        tasks.follow(HTTP, "/reports/rep_1", "the report", 0)


@pytest.mark.parametrize("status", ["pending", "running", "succeeded"])
def test_work_that_may_end_well_is_no_error(status: str) -> None:
    tasks.check({"status": status}, "the report")


def test_work_that_ended_otherwise_says_why() -> None:
    with pytest.raises(CliError, match="the import has failed: invalid_rows"):
        tasks.check({"status": "failed", "reason": "invalid_rows"}, "the import")


def test_a_download_that_breaks_off_leaves_no_file_under_its_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(_: Http, path: str, target: BinaryIO) -> int:
        target.write(b"order_id")
        raise CliError("broke off")

    monkeypatch.setattr(Http, "download", broken)
    with pytest.raises(CliError):
        tasks.fetch(HTTP, "/file", tmp_path / "orders.csv")
    assert not (tmp_path / "orders.csv").exists()


def test_a_download_counts_its_bytes_and_says_what_a_problem_says() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/gone":
            return httpx.Response(410, json={"detail": "The file is gone"})
        return httpx.Response(200, content=pieces())

    def pieces() -> Iterator[bytes]:
        yield b"order_"
        yield b"id\r\n"

    http, file = Http("analytics", "http://127.0.0.1:1"), io.BytesIO()
    http._client = httpx.Client(base_url=http.base_url, transport=httpx.MockTransport(answer))
    assert (http.download("/file", file), file.getvalue()) == (10, b"order_id\r\n")
    with pytest.raises(CliError, match="analytics answered 410: The file is gone"):
        http.download("/gone", file)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, None),
        ("2026-01-31", "2026-01-31T00:00:00Z"),
        ("2026-01-31T09:15:00+01:00", "2026-01-31T09:15:00+01:00"),
    ],
)
def test_a_date_is_its_first_moment(text: str | None, told: str | None) -> None:
    assert _moment(text) == told
