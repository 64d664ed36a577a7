"""Look-ups in the schema registry, and which of their failures are the registry's own.

Two questions, asked with the standard library: the Confluent client would add its own HTTP stack
and a cryptography library to every service, 10 MB and a third of a second each.
"""

import json
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import quote, urlsplit

_TIMEOUT_S = 5
_MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"


class RegistryUnavailable(Exception):
    """The registry cannot give a sound answer now: infrastructure, so wait and try again."""


class Registry:
    """A read-only view of a registry by its Confluent-compatible API; services never register."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection_type = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._host = parts.netloc
        self._path = parts.path.rstrip("/")

    def text_of(self, schema_id: int) -> str | None:
        """The Avro schema with this id; None if there is none. Raises `RegistryUnavailable`."""
        found = self._ask("GET", f"/schemas/ids/{schema_id}")
        # Only other types are named.
        is_avro = found is not None and found.get("schemaType", "AVRO") == "AVRO"
        return str(found["schema"]) if found and is_avro else None

    def id_of(self, subject: str, text: str) -> int | None:
        """The id of this version of a subject; None if unknown. Raises `RegistryUnavailable`."""
        found = self._ask("POST", f"/subjects/{quote(subject, safe='')}", {"schema": text})
        return int(found["id"]) if found else None

    def _ask(
        self, method: str, path: str, body: dict[str, str] | None = None
    ) -> dict[str, Any] | None:
        connection = self._connection_type(self._host, timeout=_TIMEOUT_S)
        try:
            connection.request(
                method,
                self._path + path,
                json.dumps(body) if body else None,
                {"Accept": _MEDIA_TYPE, "Content-Type": _MEDIA_TYPE},
            )
            answer = connection.getresponse()
            return _content(answer.status, answer.read())
        except (OSError, HTTPException, ValueError) as error:
            raise RegistryUnavailable(f"{type(error).__name__}: {error}") from error
        finally:
            connection.close()


def _content(status: int, text: bytes) -> dict[str, Any] | None:
    if status == HTTPStatus.NOT_FOUND:
        return None
    if status != HTTPStatus.OK:
        raise RegistryUnavailable(f"the registry answered {status}: {text[:200]!r}")
    found = json.loads(text)
    if not isinstance(found, dict):
        raise RegistryUnavailable(f"the registry answered no object: {text[:200]!r}")
    return found
