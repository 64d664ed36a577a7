"""The counters that all services share. Labels are names of types, never ids or tenants."""

from prometheus_client import Counter, Gauge, Histogram

EVENTS = Counter(
    "saga_events_handled_total",
    "Inputs handled, by event type, where they came from and the named outcome",
    ["event_type", "source", "outcome"],
)
EMITTED = Counter("saga_events_emitted_total", "Outbox rows written, by event type", ["event_type"])
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
JOBS = Counter("saga_job_runs_total", "Job attempts, by kind and result", ["kind", "result"])
BREAKER_OPEN = Gauge(
    "saga_breaker_open", "1 while a remote is not asked because it kept failing", ["remote"]
)
JOB_SECONDS = Histogram("saga_job_seconds", "Time of a job's outside call", ["kind"])
UNPUBLISHED = Gauge(
    "saga_outbox_unpublished_rows", "Outbox rows that the relay has not confirmed as published"
)
UNPUBLISHED_AGE = Gauge(
    "saga_outbox_unpublished_age_seconds", "For how long the oldest of these rows has waited"
)
SLOT_LAG = Gauge(
    "saga_slot_lag_bytes", "Write-ahead log that the outbox's replication slot has still to confirm"
)
SLOT_STATE = Gauge(
    "saga_slot_state", "1 for the state that the outbox's replication slot is in", ["state"]
)
PRUNED = Counter("saga_rows_pruned_total", "Rows deleted after their retention", ["table"])
