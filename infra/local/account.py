"""The account PostgreSQL runs as, which must not be root."""

import os
import pwd
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from infra.local.errors import StackError


@dataclass(frozen=True, slots=True)
class Account:
    """A system account to run PostgreSQL as."""

    name: str
    uid: int
    gid: int


def for_postgres() -> Account | None:
    """None when we are not root and PostgreSQL can run as ourselves.

    Raises StackError when there is no account to give up root for.
    """
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise StackError(
        "PostgreSQL refuses to run as root and there is no account 'postgres' or 'nobody'",
        "Run this as another user, or create one of them.",
    )


def can_enter(account: Account, path: Path) -> bool:
    """Whether the account may pass through every folder that leads to ``path``."""
    return all(_may_pass(account, folder) for folder in path.resolve().parents)


def can_run(account: Account, program: Path) -> bool:
    """Whether the program starts when the account runs it."""
    try:
        done = subprocess.run(
            [program, "--version"],
            check=False,
            capture_output=True,
            cwd="/",
            user=account.uid,
            group=account.gid,
            extra_groups=[],
        )
    except OSError:
        return False
    return done.returncode == 0


def _may_pass(account: Account, folder: Path) -> bool:
    stats = folder.stat()
    if stats.st_uid == account.uid:
        bit = 0o100
    elif stats.st_gid == account.gid:
        bit = 0o010
    else:
        bit = 0o001
    return bool(stats.st_mode & bit)


def die_with_parent(signal: str, account: Account | None = None) -> list[str]:
    """What to put before a command so that it gets ``signal`` when its supervisor is killed.

    Linux can promise that (``setpriv``, of util-linux). Where it cannot, as on macOS, the children
    of a killed supervisor live on until the next ``make up`` or ``make down`` finds and ends them.
    """
    setpriv = shutil.which("setpriv") if sys.platform == "linux" else None
    if setpriv is None:
        return []
    become = (
        [f"--reuid={account.uid}", f"--regid={account.gid}", "--clear-groups"] if account else []
    )
    # The death signal comes after the change of account, which would clear it.
    return [setpriv, *become, "--pdeathsig", signal]
