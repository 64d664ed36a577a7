"""`python -m infra.jaeger`: becomes Jaeger, building it first where there is no binary.

Settings: SAGA_JAEGER_CONFIG (a rendered jaeger.yaml), SAGA_CACHE_DIR, JAEGER_BIN.
"""

import os
import signal
import sys
from pathlib import Path
from types import FrameType

import tenacity

from infra.jaeger.binary import find_or_build, report_failure
from infra.local.errors import StackError
from infra.local.layout import load


def main() -> None:
    """Never returns while all is well: the process becomes Jaeger."""
    signal.signal(signal.SIGTERM, _stop)
    config = os.environ["SAGA_JAEGER_CONFIG"]
    binary = _patiently(load().cache)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.execv(binary, [str(binary), "--config", config])  # noqa: S606


def _patiently(cache: Path) -> Path:
    """A machine that is offline now may be online later, and then needs no hand to get Jaeger."""

    def tell(state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, StackError):
            words = f"{error.problem}. {error.next_step} Everything but traces works without."
            report_failure(cache, words)
            sys.stderr.write(f"{words}\n")

    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(StackError),
        wait=tenacity.wait_exponential(multiplier=60, max=1800),
        before_sleep=tell,
    )
    return attempts(find_or_build, cache)


def _stop(_signal: int, _frame: FrameType | None) -> None:
    # An exception, so that a build deletes what it has downloaded.
    sys.exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    main()
