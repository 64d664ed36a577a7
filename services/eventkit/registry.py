"""Look-ups in the schema registry, and which of their failures are the registry's own."""

from collections.abc import Callable
from typing import Any, TypeVar

from confluent_kafka.schema_registry import (
    Schema as RegisteredSchema,
)
from confluent_kafka.schema_registry import SchemaRegistryClient, SchemaRegistryError

_NOT_FOUND = 404
_TIMEOUT_S = 5

T = TypeVar("T")


class RegistryUnavailable(Exception):
    """The registry cannot give a sound answer now: infrastructure, so wait and try again."""


class Registry:
    """A read-only view of the registry; services never register. Answers are cached."""

    def __init__(self, url: str) -> None:
        config: dict[str, Any] = {"url": url, "timeout": _TIMEOUT_S, "max.retries": 0}
        self._client = SchemaRegistryClient(config)

    def text_of(self, schema_id: int) -> str | None:
        """The Avro schema with this id; None if there is none. Raises `RegistryUnavailable`."""
        schema = self._ask(lambda: self._client.get_schema(schema_id))
        return schema.schema_str if schema and schema.schema_type == "AVRO" else None

    def id_of(self, subject: str, text: str) -> int | None:
        """The id of this version of a subject; None if unknown. Raises `RegistryUnavailable`."""
        wanted = RegisteredSchema(text, "AVRO")
        found = self._ask(lambda: self._client.lookup_schema(subject, wanted))
        return found.schema_id if found else None

    def _ask(self, question: Callable[[], T]) -> T | None:
        try:
            return question()
        except SchemaRegistryError as error:
            if error.http_status_code == _NOT_FOUND:
                return None
            raise RegistryUnavailable(str(error)) from error
        except Exception as error:
            # The client lets through whatever its HTTP library raises, and has changed that before.
            raise RegistryUnavailable(f"{type(error).__name__}: {error}") from error
