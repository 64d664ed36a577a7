"""Migrations: one shared Alembic environment, one folder of versions a service.

``python -m services.eventkit.migrate order`` brings the database of ``SAGA_DATABASE_URL`` up to
date; a second run changes nothing.
"""

import os
import sys
from pathlib import Path

from alembic import command
from alembic.config import Config

_HERE = Path(__file__).parent


def migrate(service: str, database_url: str) -> None:
    """Brings a service's database to its newest version."""
    command.upgrade(_config(service, database_url), "head")


def _config(service: str, database_url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_HERE / "alembic"))
    config.set_main_option(
        "version_locations", str(_HERE.parent / service / "migrations" / "versions")
    )
    config.set_main_option("path_separator", "newline")
    config.attributes["database_url"] = database_url
    return config


def main() -> int:
    """The command line."""
    url = os.environ.get("SAGA_DATABASE_URL", "")
    if len(sys.argv) != 2 or not url:
        print(__doc__, file=sys.stderr)  # noqa: T201
        return 2
    migrate(sys.argv[1], url)
    return 0


if __name__ == "__main__":
    sys.exit(main())
