"""The SQL of the technical tables, frozen as released: a change is a new text, not an edit."""

from collections.abc import Sequence


def kit_v1(topics: Sequence[str], relay_role: str = "debezium") -> str:
    """Keys, inbox, outbox with its publication, jobs and dead letters.

    ``topics`` are the only ones an outbox row may name: a row for an unknown topic would stall
    the connector. ``relay_role`` reads the outbox and nothing else.
    """
    known = ", ".join(f"'{topic}'" for topic in topics)
    return f"""
CREATE TABLE keys (key text PRIMARY KEY);

CREATE TABLE inbox (
    message_id  uuid PRIMARY KEY,
    key         text,
    event_type  text,
    topic       text NOT NULL,
    partition   integer NOT NULL,
    "offset"    bigint NOT NULL,
    tenant_id   text NOT NULL,
    status      text NOT NULL CHECK (status IN ('done', 'dead', 'parked')),
    received_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX inbox_blocked ON inbox (key) WHERE status <> 'done';
CREATE INDEX inbox_received ON inbox (received_at);

CREATE TABLE outbox (
    seq            bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    message_id     uuid PRIMARY KEY,
    topic          text NOT NULL CHECK (topic IN ({known})),
    aggregate_id   text NOT NULL CHECK (aggregate_id <> ''),
    event_type     text NOT NULL CHECK (event_type <> ''),
    specversion    text NOT NULL DEFAULT '1.0',
    source         text NOT NULL,
    event_time     text NOT NULL,
    subject        text NOT NULL,
    correlation_id text NOT NULL,
    causation_id   text,
    sequence       bigint NOT NULL CHECK (sequence >= 0),
    schema_version text NOT NULL,
    tenant_id      text NOT NULL,
    actor_id       text NOT NULL,
    traceparent    text,
    payload        bytea NOT NULL,
    created_at     timestamp NOT NULL DEFAULT (clock_timestamp() AT TIME ZONE 'utc'),
    -- Where in the write-ahead log the row is: what the relay's slot has passed has been read.
    lsn            pg_lsn NOT NULL DEFAULT pg_current_wal_insert_lsn()
);
-- An aggregate says each version once; dead letters have no version.
CREATE UNIQUE INDEX outbox_version ON outbox (aggregate_id, sequence) WHERE sequence > 0;
CREATE INDEX outbox_lsn ON outbox (lsn);

CREATE FUNCTION outbox_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'an outbox row is a published fact: % is refused', TG_OP
        USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER outbox_no_update BEFORE UPDATE ON outbox
    FOR EACH STATEMENT EXECUTE FUNCTION outbox_is_append_only();
CREATE TRIGGER outbox_no_truncate BEFORE TRUNCATE ON outbox
    FOR EACH STATEMENT EXECUTE FUNCTION outbox_is_append_only();

CREATE TABLE jobs (
    job_id         uuid PRIMARY KEY,
    key            text NOT NULL,
    kind           text NOT NULL,
    args           jsonb NOT NULL,
    status         text NOT NULL CHECK
        (status IN ('pending', 'running', 'succeeded', 'failed', 'dead', 'cancelled')),
    priority       integer NOT NULL,
    run_at         timestamptz NOT NULL,
    attempts       integer NOT NULL CHECK (attempts >= 0),
    redrives       integer NOT NULL DEFAULT 0,
    locked_by      text,
    locked_until   timestamptz,
    tenant_id      text NOT NULL,
    actor_id       text NOT NULL,
    correlation_id text NOT NULL,
    causation_id   text,
    traceparent    text,
    last_error     text,
    created_at     timestamptz NOT NULL DEFAULT now(),
    finished_at    timestamptz,
    CHECK ((status = 'running') = (locked_by IS NOT NULL AND locked_until IS NOT NULL))
);
CREATE INDEX jobs_due ON jobs (kind, priority, run_at) WHERE status = 'pending';
CREATE INDEX jobs_leases ON jobs (locked_until) WHERE status = 'running';
CREATE INDEX jobs_key ON jobs (key);
CREATE INDEX jobs_ended_badly ON jobs (finished_at) WHERE status IN ('failed', 'dead');

CREATE TABLE dead_letters (
    seq            bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    message_id     uuid PRIMARY KEY,
    key            text,
    tenant_id      text NOT NULL,
    event_type     text,
    topic          text NOT NULL,
    partition      integer NOT NULL,
    "offset"       bigint NOT NULL,
    record_key     bytea,
    record_headers jsonb NOT NULL,
    record_value   bytea,
    status         text NOT NULL CHECK
        (status IN ('dead', 'parked', 'quarantined', 'redriven', 'discarded')),
    reason         text NOT NULL,
    first_error    text NOT NULL,
    last_error     text NOT NULL,
    attempts       integer NOT NULL CHECK (attempts >= 0),
    failed_at      timestamptz NOT NULL DEFAULT now(),
    updated_at     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX dead_letters_open ON dead_letters (key, seq)
    WHERE status IN ('dead', 'parked', 'quarantined');

CREATE TABLE decisions (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    made_at     timestamptz NOT NULL DEFAULT now(),
    made_by     text NOT NULL CHECK (made_by <> ''),
    action      text NOT NULL CHECK (action IN ('redrive', 'discard', 'redrive_job')),
    subject     text NOT NULL,
    why         text NOT NULL,
    outcome     text NOT NULL
);

CREATE PUBLICATION outbox_pub FOR TABLE outbox WITH (publish = 'insert');
GRANT USAGE ON SCHEMA public TO {relay_role};
GRANT SELECT ON outbox TO {relay_role};
"""


def projection_state_v1() -> str:
    """The row that whoever writes a read model share-locks."""
    return """
CREATE TABLE projection_state (
    only_row     boolean PRIMARY KEY CHECK (only_row),
    version      integer NOT NULL,
    generation   integer NOT NULL,
    paused_by    text,
    paused_until timestamptz,
    CHECK ((paused_by IS NULL) = (paused_until IS NULL))
);
INSERT INTO projection_state (only_row, version, generation) VALUES (true, 1, 1);
"""


def generations_v1() -> str:
    """The account of a read model's generations; ``projection_state`` must be there."""
    return """
CREATE TABLE generations (
    generation integer PRIMARY KEY,
    version    integer NOT NULL,
    status     text NOT NULL CHECK (status IN ('copying', 'ready', 'current', 'kept')),
    begun_at   timestamptz NOT NULL DEFAULT now(),
    swapped_at timestamptz,
    UNIQUE (status) DEFERRABLE INITIALLY DEFERRED  -- a way back changes two places
);
INSERT INTO generations (generation, version, status)
    SELECT generation, version, 'current' FROM projection_state;
"""


def clients_v1(name: str) -> str:
    """Idempotency keys, and every state that things of one kind have had: what streams tell."""
    return f"""
CREATE TABLE idempotency_keys (
    tenant_id   text NOT NULL,
    route       text NOT NULL,
    key         text NOT NULL,
    fingerprint text NOT NULL,
    status      integer NOT NULL,
    body        jsonb NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, route, key)
);
CREATE INDEX idempotency_keys_created ON idempotency_keys (created_at);

CREATE TABLE {name}_changes (
    seq       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Which transaction wrote it: a reader passes over those that may still be under way.
    xact      xid8 NOT NULL DEFAULT pg_current_xact_id(),
    tenant_id text NOT NULL,
    {name}_id text NOT NULL,
    at        timestamptz NOT NULL,
    state     jsonb NOT NULL
);
CREATE INDEX {name}_changes_of ON {name}_changes ({name}_id, seq);
CREATE INDEX {name}_changes_tenant ON {name}_changes (tenant_id, xact, seq);
CREATE INDEX {name}_changes_xact ON {name}_changes (xact, seq);
"""
