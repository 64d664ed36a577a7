"""What inventory does later: check the chunks of imports, one a job."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from services.eventkit.db import make_engine
from services.eventkit.jobs import JobContext, JobKind, Refused, needing
from services.inventory import import_store
from services.inventory.imports import JOB, parse
from services.inventory.settings import InventorySettings


class Chunks:
    """Reads chunks: so much of a file is in memory at once."""

    def __init__(self, db: sa.Engine) -> None:
        self._db = db

    def check(self, job: JobContext) -> Mapping[str, Any]:
        """The rows of the chunk that the job asks for. Raises `Refused` where it is not there."""
        with needing("chunks"), self._db.connect() as conn:
            chunk = import_store.chunk(conn, job.key, job.args["chunk"])
        if chunk is None:
            raise Refused("chunk_missing")
        rows, bad = parse(chunk)
        return {"rows": rows, "bad": bad}


def job_kinds(settings: InventorySettings) -> Sequence[JobKind]:
    """The job kinds of the service."""
    db = make_engine(settings.database_url, pool_size=2, name="inventory-imports")
    return [JobKind(JOB, Chunks(db).check, "imports", max_attempts=5, timeout=60.0)]
