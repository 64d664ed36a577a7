"""A heavy hand on replication slots: what an accident or a full disk does to them."""

from infra.names import EMITTERS, connector, slot
from tests.live_stack import LiveStack
from tests.saga.support.faults import Faults
from tests.saga.support.wait import until

MB = 1_000_000


class Slots:
    """The slots of the stack, by the name of their service."""

    def __init__(self, stack: LiveStack, faults: Faults) -> None:
        self._stack = stack
        self._faults = faults

    def stop_reading(self, service: str) -> None:
        """Stops a connector until `read_on`; its slot is free then."""
        self._faults.connect("PUT", f"/connectors/{connector(service)}/stop")
        until(lambda: self.state(service)[0] is False, f"the slot of {service} to be free")

    def read_on(self, service: str) -> None:
        """Resumes a stopped connector, whatever may come of it."""
        self._faults.connect("PUT", f"/connectors/{connector(service)}/resume")

    def drop(self, service: str) -> None:
        """Drops a free slot."""
        with self._stack.admin() as admin:
            admin.execute("SELECT pg_drop_replication_slot(%s)", [slot(service)])

    def make_anew(self, service: str) -> None:
        """What a person does who thinks it helps: a new slot of the old name, at the present."""
        with self._stack.admin(f"{service}_db") as admin:
            query = "SELECT pg_create_logical_replication_slot(%s, 'pgoutput')"
            admin.execute(query, [slot(service)])

    def cut_off(self, service: str) -> None:
        """Writes so much that a free slot holds back more than it may, and PostgreSQL gives it up.

        In steps, so that the other slots, which are being read, keep up.
        """
        others = [name for name in EMITTERS if name != service]
        with self._stack.admin() as admin:
            admin.execute("ALTER SYSTEM SET max_slot_wal_keep_size = '32MB'")
            admin.execute("SELECT pg_reload_conf()")
            try:
                while self.state(service)[1] != "lost":
                    self.write(8)
                    admin.execute("CHECKPOINT")
                    if self.retained(*others) > 16 * MB:
                        until(lambda: self.retained(*others) < 8 * MB, "the other slots to keep up")
            finally:
                admin.execute("ALTER SYSTEM RESET max_slot_wal_keep_size")
                admin.execute("SELECT pg_reload_conf()")

    def write(self, megabytes: int) -> None:
        """Writes so much of the write-ahead log, in a database that no slot reads."""
        with self._stack.admin() as admin:
            for _ in range(megabytes):
                query = "SELECT pg_logical_emit_message(false, 'test', repeat('x', 1000000))"
                admin.execute(query)

    def retained(self, *services: str) -> int:
        """Bytes of the write-ahead log that the slots of these services hold back at most."""
        with self._stack.admin() as admin:
            query = """
                SELECT max(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn))
                FROM pg_replication_slots WHERE slot_name = ANY(%s)"""
            row = admin.execute(query, [[slot(name) for name in services]]).fetchone()
        assert row is not None
        return int(row[0])

    def state(self, service: str) -> tuple[bool | None, str | None]:
        """Whether the slot is active, and its ``wal_status``; None of both without a slot."""
        with self._stack.admin() as admin:
            query = "SELECT active, wal_status FROM pg_replication_slots WHERE slot_name = %s"
            row = admin.execute(query, [slot(service)]).fetchone()
        return (row[0], row[1]) if row else (None, None)
