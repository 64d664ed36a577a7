"""Structured logs for people who operate: one line an event, no payload, no personal data."""

import logging
import sys
import traceback
from typing import Any

import structlog
from opentelemetry import trace

_NOISY = ("httpx", "httpx2", "httpcore", "uvicorn.access", "alembic", "opentelemetry", "urllib3")


def setup(service: str, log_format: str = "", level: str = "INFO") -> None:
    """Sends all logs, also those of libraries, to standard output in one form."""
    as_json = log_format == "json" or (not log_format and not sys.stdout.isatty())

    def add_service(_: Any, __: str, entry: dict[str, Any]) -> dict[str, Any]:
        entry["service"] = service
        return entry

    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        add_service,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        _add_trace_id,
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer()
    )
    exceptions: list[Any] = [_add_exception] if as_json else []
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *exceptions,
                renderer,
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=level, force=True)
    for noisy in _NOISY:
        logging.getLogger(noisy).setLevel("ERROR")
    # Our own lines, one for each event, do not take the long way through the standard library: that
    # is two thirds of what a line costs.
    wrapped: Any = structlog.stdlib.ProcessorFormatter.wrap_for_formatter
    structlog.configure(
        processors=[*shared, *exceptions, renderer] if as_json else [*shared, wrapped],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level)),
        logger_factory=(
            structlog.WriteLoggerFactory(sys.stdout)
            if as_json
            else structlog.stdlib.LoggerFactory()
        ),
        cache_logger_on_first_use=True,
    )


def logger(name: str) -> Any:
    """A logger whose keyword arguments become fields."""
    return structlog.get_logger(name)


def short(error: BaseException) -> str:
    """The kind of an error and the first line of its text: a database adds values further down."""
    cause = getattr(error, "orig", None) or error
    lines = str(cause).splitlines()
    return f"{type(cause).__name__}: {lines[0] if lines else ''}"[:300]


def _add_exception(_: Any, __: str, entry: dict[str, Any]) -> dict[str, Any]:
    """Where an error came from and what it came of, each with the first line of its text alone."""
    given = entry.pop("exc_info", None)
    error = sys.exc_info()[1] if given is True else given[1] if isinstance(given, tuple) else given
    parts = []
    while error:
        parts.append("".join(traceback.format_tb(error.__traceback__)) + short(error))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if parts:
        entry["exception"] = "\nit came of\n".join(parts)
    return entry


def _add_trace_id(_: Any, __: str, entry: dict[str, Any]) -> dict[str, Any]:
    if "trace_id" not in entry:
        context = trace.get_current_span().get_span_context()
        if context.is_valid:
            entry["trace_id"] = f"{context.trace_id:032x}"
    return entry
