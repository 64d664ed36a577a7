"""Results told by webhook: sent again, under the same id, until they are answered with 2xx."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial

import httpx
from standardwebhooks import Webhook

from infra.fakes.clock import now_text
from infra.fakes.payment_provider.ledger import Ledger
from services.eventkit import logs

LOG = logs.logger("notices")
_EVERY = 0.2


@asynccontextmanager
async def notices(ledger: Ledger, url: str, secret: str) -> AsyncIterator[None]:
    """Sends what is due for as long as the block lasts; nothing where there is no ``url``."""
    if not url:
        yield
        return
    async with httpx.AsyncClient(timeout=5) as client:
        task = asyncio.create_task(_run(ledger, client, url, Webhook(f"whsec_{secret}")))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _run(ledger: Ledger, client: httpx.AsyncClient, url: str, webhook: Webhook) -> None:
    while True:
        for row in await ledger.file.run(_due):
            if await _sent(client, url, webhook, row):
                await ledger.file.run(partial(_mark, key=row["key"]))
        await asyncio.sleep(_EVERY)


async def _sent(client: httpx.AsyncClient, url: str, webhook: Webhook, row: sqlite3.Row) -> bool:
    data = {
        name: row[name]
        for name in ("key", "charge_id", "reference", "status", "amount", "currency", "reason")
    }
    body = json.dumps({"type": f"charge.{row['status']}", "data": data})
    now = datetime.now(UTC)
    headers = {
        "Content-Type": "application/json",
        "webhook-id": row["webhook_id"],
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": webhook.sign(row["webhook_id"], now, body),
    }
    try:
        answer = await client.post(url, content=body, headers=headers)
    except httpx.TransportError as error:
        LOG.info("notice not taken", error=repr(error))
        return False
    return answer.is_success


def _due(connection: sqlite3.Connection) -> list[sqlite3.Row]:
    query = (
        "SELECT c.*, n.webhook_id FROM notices n JOIN charges c ON c.key = n.charge_key"
        " WHERE n.sent_at IS NULL LIMIT 20"
    )
    return connection.execute(query).fetchall()


def _mark(connection: sqlite3.Connection, key: str) -> None:
    connection.execute("UPDATE notices SET sent_at = ? WHERE charge_key = ?", (now_text(), key))
