from pathlib import Path

from infra.local.account import Account, can_enter


def test_an_account_enters_only_where_every_folder_lets_it_pass(tmp_path: Path) -> None:
    stranger = Account("stranger", uid=65533, gid=65533)
    # Not in tmp_path alone: pytest's own folder above it is private.
    inner = Path("/usr/bin/env")
    assert can_enter(stranger, inner)
    shut = tmp_path / "shut"
    shut.mkdir(mode=0o700)
    assert not can_enter(stranger, shut / "file")


def test_the_owner_enters_a_private_folder(tmp_path: Path) -> None:
    shut = tmp_path / "shut"
    shut.mkdir(mode=0o700)
    stats = shut.stat()
    owner = Account("owner", stats.st_uid, stats.st_gid)
    assert can_enter(owner, shut / "file")
