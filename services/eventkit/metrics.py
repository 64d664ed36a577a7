"""The counters that all services share. Labels are names of types, never ids or tenants."""

from collections import Counter as Tally
from collections.abc import Iterable

from prometheus_client import Counter, Gauge, Histogram

WAITS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300)
"""Buckets for what usually takes a moment and, while something is away, minutes; seconds."""

EVENTS = Counter(
    "saga_events_handled_total",
    "Inputs handled, by event type, where they came from and the named outcome",
    ["event_type", "source", "outcome"],
)
EMITTED = Counter("saga_events_emitted_total", "Outbox rows written, by event type", ["event_type"])
TAKEN = Counter(
    "saga_records_taken_total",
    "Records taken from a topic, also those of a type that nobody acts on",
    ["topic"],
)
RELAY_SECONDS = Histogram(
    "saga_relay_seconds",
    "Time from the decision on an event until it was on its topic",
    ["topic"],
    buckets=WAITS,
)
TOPIC_SECONDS = Histogram(
    "saga_topic_seconds",
    "Time that a record lay on its topic until it was taken",
    ["topic"],
    buckets=WAITS,
)
RULE_SECONDS = Histogram(
    "saga_rule_seconds",
    "Time of deciding on one input in memory, encoding included",
    ["event_type"],
    buckets=(0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.1, 1),
)
BATCH_SIZE = Histogram(
    "saga_batch_records",
    "Records a consumer took at once",
    buckets=(1, 2, 5, 10, 20, 50, 100, 200, 500),
)
BATCH_SECONDS = Histogram(
    "saga_batch_seconds",
    "Time from taking a batch to the commit of its transaction",
    buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 30),
)
RETRIES = Counter(
    "saga_infrastructure_retries_total",
    "Batches and job results run again because a database, registry or broker was away",
    ["loop"],
)
DEAD_LETTERS = Counter(
    "saga_dead_letters_total",
    "Records put aside, by status (dead, parked) and reason",
    ["status", "reason"],
)
LETTERS = Gauge(
    "saga_dead_letters_open",
    "Records that are put aside now, by status (dead, parked, quarantined)",
    ["status"],
)
JOBS = Counter("saga_job_runs_total", "Job attempts, by kind and result", ["kind", "result"])
BREAKER_OPEN = Gauge(
    "saga_breaker_open", "1 while a remote is not asked because it kept failing", ["remote"]
)
JOB_SECONDS = Histogram("saga_job_seconds", "Time of a job's outside call", ["kind"])
JOBS_NOW = Gauge(
    "saga_jobs", "Jobs that wait, run or are dead now, by kind and status", ["kind", "status"]
)
JOB_OVERDUE = Gauge(
    "saga_job_overdue_seconds",
    "For how long the job that is due the longest has waited for a worker, by kind",
    ["kind"],
)
REQUESTS = Counter(
    "saga_http_requests_total",
    "Requests answered, by method, route and status",
    ["method", "route", "status"],
)
REQUEST_SECONDS = Histogram(
    "saga_http_request_seconds",
    "Time until an answer began; requests that ask to wait are left out",
    ["method", "route"],
    buckets=(0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10),
)
UNPUBLISHED = Gauge(
    "saga_outbox_unpublished_rows", "Outbox rows that the relay has not confirmed as published"
)
UNPUBLISHED_AGE = Gauge(
    "saga_outbox_unpublished_age_seconds", "For how long the oldest of these rows has waited"
)
SLOT_LAG = Gauge(
    "saga_slot_lag_bytes", "Write-ahead log that the outbox's replication slot has still to confirm"
)
SLOT_RETAINED = Gauge(
    "saga_slot_retained_bytes", "Write-ahead log that is kept on disk for the outbox's slot"
)
SLOT_STATE = Gauge(
    "saga_slot_state", "1 for the state that the outbox's replication slot is in", ["state"]
)
PRUNED = Counter("saga_rows_pruned_total", "Rows deleted after their retention", ["table"])


def count(counter: Counter, things: Iterable[tuple[str, ...]]) -> None:
    """Counts things by their labels, those that are alike in one go: each count takes locks."""
    for labels, number in Tally(things).items():
        counter.labels(*labels).inc(number)
