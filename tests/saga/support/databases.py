"""Looking into every service's database, read only."""

from typing import Any

import sqlalchemy as sa

from services.orderctl.settings import Settings
from services.orderctl.verify.databases import reading

Row = dict[str, Any]


class Databases:
    """The databases of all services, as the auditor sees them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def rows(self, service: str, query: str, **values: Any) -> list[Row]:
        """The rows of a query on a service's database."""
        with reading(self._settings, service) as conn:
            return [dict(row) for row in conn.execute(sa.text(query), values).mappings()]

    def row(self, service: str, query: str, **values: Any) -> Row | None:
        """The only row of a query, or None; more than one is a mistake."""
        found = self.rows(service, query, **values)
        assert len(found) <= 1, f"{len(found)} rows: {query}"
        return found[0] if found else None

    def count(self, service: str, table: str, **equal: Any) -> int:
        """How many rows of a table have these values in these columns."""
        where = " AND ".join(f"{column} = :{column}" for column in equal) or "true"
        found = self.rows(service, f"SELECT count(*) AS n FROM {table} WHERE {where}", **equal)
        return int(found[0]["n"])

    def outbox(self, service: str, key: str) -> list[Row]:
        """What a service has written about an order, in order: type, id and topic."""
        query = """
            SELECT event_type, message_id::text AS message_id, topic
            FROM outbox WHERE aggregate_id = :key ORDER BY seq"""
        return self.rows(service, query, key=key)
