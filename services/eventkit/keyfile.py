"""API keys in one file: every process reads it again when it has changed, one command writes it.

A key is ``osk_<id>_<secret>``. The file holds the SHA-256 of each; a secret is 32 random bytes, so
there is nothing to guess and no need for a slow hash.
"""

import hashlib
import hmac
import json
import os
import secrets
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from services.eventkit import logs

LOG = logs.logger("keys")
PREFIX: Final = "osk"
TENANT: Final = r"^[a-z0-9][a-z0-9_\-]{0,62}$"

_LOOK_EVERY = 1.0


class ApiKey(BaseModel):
    """One key; after ``expires_at`` it opens nothing. An operator's opens ``/operations`` too."""

    model_config = ConfigDict(extra="forbid")

    tenant: str = Field(pattern=TENANT)
    sha256: str
    created_at: datetime
    expires_at: datetime | None = None
    operator: bool = False


class Allowance(BaseModel):
    """What one tenant may do, where it is not what all may."""

    model_config = ConfigDict(extra="forbid")

    orders_per_second: int | None = Field(default=None, ge=1)
    open_orders: int | None = Field(default=None, ge=0)


class Keys(BaseModel):
    """The content of the file: keys by id, allowances by tenant."""

    model_config = ConfigDict(extra="forbid")

    keys: dict[str, ApiKey] = Field(default_factory=dict)
    tenants: dict[str, Allowance] = Field(default_factory=dict)

    def known(self, key: str, now: datetime) -> ApiKey | None:
        """What is kept of a key; None for one that is unknown, revoked or expired."""
        prefix, _, rest = key.partition("_")
        key_id, _, _ = rest.partition("_")
        found = self.keys.get(key_id)
        if prefix != PREFIX or found is None or not hmac.compare_digest(found.sha256, _hash(key)):
            return None
        return found if found.expires_at is None or now < found.expires_at else None

    def add(self, tenant: str, now: datetime, *, operator: bool = False) -> tuple[str, str]:
        """Adds a key of a tenant: its id, and the key itself, which is kept nowhere."""
        key_id = secrets.token_hex(6)
        key = f"{PREFIX}_{key_id}_{secrets.token_urlsafe(32)}"
        self.keys[key_id] = ApiKey(
            tenant=tenant, sha256=_hash(key), created_at=now, operator=operator
        )
        return key_id, key


class KeyFile:
    """The keys as they are now; safe to share between threads.

    A file that cannot be read leaves what was read before: a mistake in it locks nobody out and
    lets nobody in.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._guard = threading.Lock()
        self._looked = float("-inf")
        self._mark: tuple[int, int, int] | None = None
        self._wrong: str | None = None
        self._keys = Keys()

    def keys(self) -> Keys:
        """What the file says, at most a second ago."""
        with self._guard:
            if self._path is not None and time.monotonic() - self._looked > _LOOK_EVERY:
                self._looked = time.monotonic()
                self._read(self._path)
            return self._keys

    def _read(self, path: Path) -> None:
        try:
            mark = _mark(path)
            if mark is not None and mark == self._mark:
                return
            keys = read(path)
        except (OSError, ValidationError) as error:
            self._tell(str(error)[:300])
            return
        self._mark, self._keys, self._wrong = mark, keys, None

    def _tell(self, wrong: str) -> None:
        """Says it once, not with every look: until it can be read, the file is tried again."""
        if wrong != self._wrong:
            LOG.error("the key file is wrong, the keys before it stay", error=wrong)
        self._mark, self._wrong = None, wrong


def read(path: Path) -> Keys:
    """What a file says; one that is not there says nothing. Raises ValidationError or OSError."""
    return Keys.model_validate_json(path.read_bytes()) if path.exists() else Keys()


def write(path: Path, keys: Keys) -> None:
    """Replaces the file in one step, readable by its owner only."""
    text = json.dumps(keys.model_dump(mode="json", exclude_defaults=True), indent=2) + "\n"
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def bearer(headers: Mapping[str, str]) -> str | None:
    """The key of a request, or None where it has no ``Authorization``."""
    given = headers.get("Authorization")
    if given is None:
        return None
    scheme, _, key = given.partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def now() -> datetime:
    """The time that keys expire by."""
    return datetime.now(UTC)


def _mark(path: Path) -> tuple[int, int, int] | None:
    """What is another after every change; None where there is no file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
