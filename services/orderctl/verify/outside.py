"""Loads what is not in a database of ours: topics, the provider's ledger, the arrived mails."""

from datetime import UTC, datetime

from services.orderctl.client import Http, pages
from services.orderctl.kafka import bystander, partitions_of, read_all
from services.orderctl.verify.data import LedgerEntry, Mail, TopicRecord
from services.orderctl.verify.databases import EMITTERS

TOPICS = tuple(f"{service}.{kind}" for service in EMITTERS for kind in ("events", "dlq"))


def ledger(provider: Http) -> list[LedgerEntry]:
    """All money the provider moved; an entry's reference is the order id."""
    return [
        LedgerEntry(item["kind"], item["reference"], item["currency"], item["amount"])
        for item in pages(provider, "/ledger", "entries")
    ]


def mails(sink: Http) -> list[Mail]:
    """All mails that arrived about orders."""
    return [
        Mail(item["order_id"], item["message_id"])
        for item in pages(sink, "/messages", "messages")
        if item["order_id"]
    ]


def partitions(bootstrap: str) -> dict[str, int]:
    """How many partitions each topic has."""
    consumer = bystander(bootstrap)
    try:
        found = partitions_of(consumer, TOPICS)
    finally:
        consumer.close()
    return {topic: sum(part.topic == topic for part in found) for topic in TOPICS}


def records(bootstrap: str) -> list[TopicRecord]:
    """Every record of every topic that an outbox feeds, undecoded."""
    return [
        TopicRecord(
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            key=record.key,
            message_id=record.headers.get("ce_id"),
            created_at=datetime.fromtimestamp(record.created_ms / 1000, UTC),
        )
        for record in read_all(bootstrap, TOPICS)
    ]
