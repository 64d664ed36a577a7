"""Logs are JSON for programs, and lines for people on a terminal."""

import json
import os
import pty
import subprocess
import sys


def test_on_a_terminal_lines_are_for_reading() -> None:
    """Without a setting the form follows the output; a terminal is a pseudo one here."""
    code = (
        "from services.eventkit import logs; logs.setup('toy'); "
        "logs.logger('toy').info('event handled', outcome='applied')"
    )
    ours, theirs = pty.openpty()
    try:
        subprocess.run([sys.executable, "-c", code], stdout=theirs, check=True, timeout=60)
        text = os.read(ours, 65_536).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert "event handled" in text
    assert "outcome" in text
    assert not text.lstrip().startswith("{")
    piped = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(piped.stdout)["outcome"] == "applied"


def test_a_line_names_its_service_whatever_thread_writes_it() -> None:
    code = (
        "import threading; from services.eventkit import logs; logs.setup('toy', 'json'); "
        "told = threading.Thread(target=logs.logger('toy').info, args=['event handled']); "
        "told.start(); told.join()"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(told.stdout)["service"] == "toy"


def test_a_traceback_has_no_values_of_the_database() -> None:
    code = (
        "import psycopg; from sqlalchemy.exc import IntegrityError; "
        "from services.eventkit import logs; logs.setup('toy', 'json')\n"
        "cause = psycopg.errors.CheckViolation('violates check\\nDETAIL: row (Ada, ada@shop)')\n"
        "try:\n"
        "    try:\n        raise cause\n"
        "    except psycopg.Error as e:\n"
        "        raise IntegrityError('INSERT', {'name': 'Ada'}, e) from e\n"
        "except Exception:\n"
        "    logs.logger('toy').exception('broken')"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    exception = json.loads(told.stdout)["exception"]
    assert "CheckViolation: violates check" in exception and "line 5" in exception
    assert "Ada" not in told.stdout
