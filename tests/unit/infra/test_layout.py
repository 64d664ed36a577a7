from pathlib import Path

import pytest

from infra.local import layout, passwords
from infra.local.errors import StackError
from infra.local.layout import Layout


def test_state_is_in_the_checkout_and_the_cache_is_not() -> None:
    where = layout.load({"XDG_CACHE_HOME": "/home/me/.cache"})
    assert where.state == layout.ROOT / ".state"
    assert where.cache == Path("/home/me/.cache/order-saga")


def test_a_relative_state_folder_is_relative_to_the_checkout() -> None:
    assert layout.load({"SAGA_STATE_DIR": ".state-2"}).state == layout.ROOT / ".state-2"


def test_a_folder_with_something_else_in_it_is_not_taken_over(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(StackError, match="not a state folder"):
        Layout(tmp_path, tmp_path / "cache").create()


def test_the_control_socket_has_a_short_path_however_deep_the_checkout_is(tmp_path: Path) -> None:
    deep = Layout(tmp_path / ("x" * 100), tmp_path)
    assert len(str(deep.socket)) <= layout.LONGEST_SOCKET_PATH
    assert Layout(Path("/s"), tmp_path).socket == Path("/s/run/supervisor.sock")


def test_passwords_are_made_once_and_only_their_owner_can_read_them(tmp_path: Path) -> None:
    where = Layout(tmp_path / "state", tmp_path / "cache")
    where.create()
    made = passwords.load_or_make(where)
    assert passwords.load_or_make(where) == made
    assert len(set(made.values())) == len(made)
    assert where.secrets.stat().st_mode & 0o777 == 0o600
