"""API keys: what opens, what does not, and a file that changes while it is read."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from services.eventkit import keyfile, operations
from services.eventkit.access import ORDERS, REQUESTS, Access
from services.eventkit.codec import Codec
from services.eventkit.engine import Engine
from services.eventkit.http import Problem, create_app
from services.eventkit.keyfile import Allowance, KeyFile, Keys, bearer
from services.eventkit.schemas import Schemas

NOW = datetime(2026, 1, 31, 9, 15, tzinfo=UTC)


def whose(keys: Keys, key: str, now: datetime) -> str | None:
    found = keys.known(key, now)
    return found.tenant if found else None


def test_a_key_opens_its_tenant_until_it_expires() -> None:
    keys = Keys()
    key_id, key = keys.add("acme", NOW)
    assert whose(keys, key, NOW) == "acme"
    keys.keys[key_id].expires_at = NOW + timedelta(seconds=1)
    assert whose(keys, key, NOW) == "acme"
    assert whose(keys, key, NOW + timedelta(seconds=1)) is None


def test_no_other_text_opens_anything() -> None:
    keys = Keys()
    key_id, key = keys.add("acme", NOW)
    for wrong in ("", "osk", f"osk_{key_id}", key[:-1], key + "x", key.upper(), f"x{key}"):
        assert whose(keys, wrong, NOW) is None


def test_the_file_holds_no_key_and_is_its_owners_alone(tmp_path: Path) -> None:
    keys, path = Keys(), tmp_path / "keys.json"
    _, key = keys.add("acme", NOW)
    keyfile.write(path, keys)
    assert key.rpartition("_")[2] not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert whose(keyfile.read(path), key, NOW) == "acme"


def test_a_changed_file_is_read_again_and_a_broken_one_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyfile, "_LOOK_EVERY", -1.0)
    path = tmp_path / "keys.json"
    seen, keys = KeyFile(path), Keys()
    assert seen.keys() == Keys()
    _, key = keys.add("acme", NOW)
    keyfile.write(path, keys)
    assert whose(seen.keys(), key, NOW) == "acme"
    path.write_text("{ half")
    assert whose(seen.keys(), key, NOW) == "acme"
    path.unlink()
    assert seen.keys() == Keys()


@pytest.mark.parametrize("fails", ["stat", "read_bytes"])
def test_a_file_that_cannot_be_read_is_tried_again_and_told_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fails: str,
) -> None:
    """A revoked key would stay valid until the file changes once more."""
    monkeypatch.setattr(keyfile, "_LOOK_EVERY", -1.0)
    path, keys = tmp_path / "keys.json", Keys()
    _, key = keys.add("acme", NOW)
    keyfile.write(path, keys)
    seen = KeyFile(path)
    assert whose(seen.keys(), key, NOW) == "acme"
    keyfile.write(path, Keys())
    with monkeypatch.context() as broken:

        def refuse(*_: object, **__: object) -> None:
            raise PermissionError("not yours")

        broken.setattr(Path, fails, refuse)
        for _ in range(3):
            assert whose(seen.keys(), key, NOW) == "acme"
    assert capsys.readouterr().out.count("the key file is wrong") == 1
    assert whose(seen.keys(), key, NOW) is None


@pytest.mark.parametrize(
    ("header", "key"),
    [(None, None), ("Bearer abc", "abc"), ("bearer  abc ", "abc"), ("Basic abc", ""), ("", "")],
)
def test_only_a_bearer_is_a_key(header: str | None, key: str | None) -> None:
    assert bearer({} if header is None else {"Authorization": header}) == key


def test_who_has_no_key_is_the_open_tenant_or_nobody() -> None:
    assert Access(KeyFile(None), "demo").tenant(None) == "demo"
    for access, key in ((Access(KeyFile(None)), None), (Access(KeyFile(None), "demo"), "wrong")):
        with pytest.raises(Problem) as refused:
            access.tenant(key)
        assert (refused.value.status, refused.value.headers) == (
            401,
            {"WWW-Authenticate": "Bearer"},
        )


def test_one_tenants_rate_is_no_others_and_orders_are_counted_apart(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    keyfile.write(path, Keys(tenants={"small": Allowance(orders_per_second=1)}))
    access = Access(KeyFile(path), orders_per_second=1000, requests_per_second=1000)
    with pytest.raises(Problem) as refused:
        for _ in range(4):  # a second that begins meanwhile gives one more
            access.take("small", ORDERS)
    assert (refused.value.status, refused.value.name) == (429, "too-many-requests")
    headers = refused.value.headers or {}
    assert headers["RateLimit-Policy"] == '"orders";q=1;w=1'
    assert headers["RateLimit"].startswith('"orders";r=0;t=')
    assert int(headers["Retry-After"]) >= 1
    access.take("small", REQUESTS)
    assert access.take("large", ORDERS)["RateLimit-Policy"] == '"orders";q=1000;w=1'


def test_operators_pass_with_a_key_of_their_own(tmp_path: Path) -> None:
    keys, path = Keys(), tmp_path / "keys.json"
    _, tenants = keys.add("acme", NOW)
    _, operators = keys.add("anna", NOW, operator=True)
    keyfile.write(path, keys)
    opened, closed = Access(KeyFile(path), "demo"), Access(KeyFile(path))
    for access in (opened, closed):
        assert access.operator(operators) == "anna"
        for key, status in ((tenants, 403), ("osk_made_up", 401), ("", 401)):
            with pytest.raises(Problem) as refused:
                access.operator(key)
            assert refused.value.status == status
    assert opened.operator(None) == "demo"
    with pytest.raises(Problem) as refused:
        closed.operator(None)
    assert refused.value.status == 401


def test_no_operators_route_opens_without_an_operators_key(tmp_path: Path) -> None:
    """A route that forgets to ask who it is would be open to every tenant."""
    keys, path = Keys(), tmp_path / "keys.json"
    _, tenants = keys.add("acme", NOW)
    keyfile.write(path, keys)
    nowhere = sa.create_engine("postgresql+psycopg://nowhere:1/nothing")
    engine = Engine("order", {}, cast(Any, None), Codec(Schemas.load()), "order.events")
    app = create_app("test", [operations.routes(nowhere, engine)], {}, access=Access(KeyFile(path)))
    client = TestClient(app)
    paths = {path: set(found) for path, found in app.openapi()["paths"].items() if "ope" in path}
    assert len(paths) >= 5
    for path, methods in paths.items():
        for method in methods:
            for key, status in (({}, 401), ({"Authorization": f"Bearer {tenants}"}, 403)):
                answer = client.request(method, path, headers=key)
                assert answer.status_code == status, (method, path)
