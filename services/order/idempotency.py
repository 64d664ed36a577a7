"""Idempotency-Key: the first answer to a key is stored with what it did, in one transaction.

Semantics of the IETF draft "The Idempotency-Key HTTP Header Field": the same key with the same
content gets the first answer again, with other content 422. A twin in flight waits for the first
one's commit; there is no in-progress state that a crash could leave behind.
"""

import hashlib
import json
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from services.eventkit.db import sqlstate
from services.eventkit.http import FieldError, Problem
from services.order.tables import idempotency_keys

_LOCK_TIMEOUT = "55P03"
_HEADER = "Idempotency-Key"


def fingerprint(content: Any) -> str:
    """The same for the same content, whatever the order of its keys and its white space."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()


def first_answer(
    conn: Connection,
    tenant_id: str,
    route: str,
    key: str,
    content: Any,
    status: int,
    body: dict[str, Any],
) -> dict[str, Any] | None:
    """Claims the key for ``body``, or returns the body that an earlier request was answered with.

    Must be the first write of the transaction. Raises `Problem` 422 where the key came with other
    content, 409 where the first request is still in flight after 2 s.
    """
    table = idempotency_keys.c
    mark = fingerprint(content)
    conn.execute(sa.text("SET LOCAL lock_timeout = '2s'"))
    claim = (
        insert(idempotency_keys)
        .values(
            tenant_id=tenant_id, route=route, key=key, fingerprint=mark, status=status, body=body
        )
        .on_conflict_do_nothing()
        .returning(table.key)
    )
    try:
        if conn.execute(claim).first() is not None:
            return None
    except DBAPIError as error:
        if sqlstate(error) != _LOCK_TIMEOUT:
            raise
        detail = "A request with this key is still being answered."
        raise Problem(409, "request-in-flight", detail, headers={"Retry-After": "1"}) from error
    query = sa.select(table.fingerprint, table.body).where(
        table.tenant_id == tenant_id, table.route == route, table.key == key
    )
    first = conn.execute(query).one()
    if first.fingerprint != mark:
        detail = "This key was used with other content."
        raise Problem(
            422, "idempotency-key-reused", detail, [FieldError(field=_HEADER, message=detail)]
        )
    answered: dict[str, Any] = first.body
    return answered
