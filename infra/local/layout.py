"""Where the embedded stack keeps its files."""

import hashlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.local.errors import StackError

ROOT = Path(__file__).resolve().parents[2]
MARKER = ".order-saga-state"
# The shortest limit for the path of a unix socket is macOS's: 104 bytes with the ending zero,
# and Supervisor first binds a name with its pid appended.
LONGEST_SOCKET_PATH = 90


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of one stack: ``state`` belongs to it alone, ``cache`` is shared by all."""

    state: Path
    cache: Path

    @property
    def conf(self) -> Path:
        """Rendered configuration, with passwords."""
        return self.state / "conf"

    @property
    def logs(self) -> Path:
        """One log for each process."""
        return self.state / "logs"

    @property
    def run(self) -> Path:
        """Files that mean something only while the stack runs."""
        return self.state / "run"

    @property
    def data(self) -> Path:
        """What ``make purge`` is for: databases, topics, ledgers."""
        return self.state / "data"

    @property
    def secrets(self) -> Path:
        """The generated passwords."""
        return self.state / "secrets.env"

    @property
    def orderctl_env(self) -> Path:
        """The addresses orderctl reads."""
        return self.state / "orderctl.env"

    @property
    def api_keys(self) -> Path:
        """The API keys' hashes; there once `orderctl keys` has made one."""
        return self.state / "api-keys.json"

    @property
    def supervisor_conf(self) -> Path:
        """Supervisor's rendered configuration."""
        return self.conf / "supervisord.conf"

    @property
    def socket(self) -> Path:
        """Supervisor's control socket; somewhere short when the state folder's path is too long."""
        wanted = self.run / "supervisor.sock"
        if len(os.fsencode(wanted)) <= LONGEST_SOCKET_PATH:
            return wanted
        return Path(tempfile.gettempdir()) / f"order-saga-{self.digest}" / "supervisor.sock"

    @property
    def digest(self) -> str:
        """A short name for this state folder, unique on the machine."""
        return hashlib.sha256(os.fsencode(self.state)).hexdigest()[:10]

    def create(self) -> None:
        """Make the folders. Refuses to take over a folder that holds something else."""
        marker = self.state / MARKER
        if self.state.exists() and not marker.exists() and any(self.state.iterdir()):
            raise StackError(
                f"{self.state} exists and is not a state folder of this project",
                "Choose another folder with SAGA_STATE_DIR.",
            )
        self.state.mkdir(parents=True, exist_ok=True)
        # PostgreSQL's account, which is not ours when we are root, must be able to pass through.
        self.state.chmod(0o711)
        marker.touch()
        self.socket.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for folder, mode in (
            (self.conf, 0o700),
            (self.logs, 0o700),
            (self.run, 0o700),
            (self.data, 0o711),
        ):
            folder.mkdir(exist_ok=True)
            folder.chmod(mode)
        self.cache.mkdir(parents=True, exist_ok=True)


def load(environ: Mapping[str, str] = os.environ) -> Layout:
    """The folders by SAGA_STATE_DIR and SAGA_CACHE_DIR, else ``.state`` and the user's cache."""
    state = Path(environ.get("SAGA_STATE_DIR") or ROOT / ".state")
    user_cache = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = Path(environ.get("SAGA_CACHE_DIR") or user_cache / "order-saga")
    return Layout(state=(ROOT / state).absolute(), cache=(ROOT / cache).absolute())


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, never readable by others even for a moment."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
