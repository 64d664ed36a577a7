"""Make docs/saga.md from the services' handler tables: ``python -m docs.generate_saga [--check]``.

What people wrote is in docs/saga.template.md. The way to each ending is written here and compared
with the tables step by step, so that it cannot tell of something that no rule does.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import compress
from pathlib import Path
from typing import Any

from docs.generated import finish
from services.eventkit.decision import Handlers, On

HERE = Path(__file__).parent
TARGET = HERE / "saga.md"
TEMPLATE = HERE / "saga.template.md"
ORDER = ("order", "inventory", "payment", "email", "analytics")


@dataclass(frozen=True, slots=True)
class Step:
    """One service takes one input and answers with events, jobs, or a new status alone."""

    service: str
    input: str
    outputs: tuple[str, ...] = ()


PLACED = Step("order", "PlaceOrder", ("OrderPlaced",))
RESERVED = Step("inventory", "OrderPlaced", ("StockReserved",))
CHARGED = Step("payment", "StockReserved", ("charge",))
CAPTURED = Step("payment", "charge.succeeded", ("PaymentCaptured",))
CANCELLED = Step("order", "CancelOrder", ("OrderCancelled",))
RELEASED = Step("inventory", "OrderCancelled", ("StockReleased",))
VOIDED = Step("payment", "OrderCancelled", ("void",))
FOUND_CAPTURED = Step("payment", "void.succeeded", ("PaymentCaptured", "refund"))

PATHS: Mapping[str, Sequence[Step]] = {
    "confirmed": (
        PLACED,
        RESERVED,
        CHARGED,
        CAPTURED,
        Step("order", "PaymentCaptured", ("OrderConfirmed",)),
    ),
    "cancelled: out_of_stock": (
        PLACED,
        Step("inventory", "OrderPlaced", ("StockRejected",)),
        Step("order", "StockRejected", ("OrderCancelled",)),
    ),
    "cancelled: payment_declined": (
        PLACED,
        RESERVED,
        CHARGED,
        Step("payment", "charge.succeeded", ("PaymentDeclined",)),
        Step("order", "PaymentDeclined", ("OrderCancelled",)),
        RELEASED,
    ),
    "cancelled: customer_request, nothing captured": (
        PLACED,
        RESERVED,
        CHARGED,
        CANCELLED,
        RELEASED,
        VOIDED,
        Step("payment", "void.succeeded"),
    ),
    "cancelled: customer_request, captured meanwhile": (
        PLACED,
        RESERVED,
        CHARGED,
        CANCELLED,
        RELEASED,
        VOIDED,
        FOUND_CAPTURED,
        Step("payment", "refund.succeeded", ("PaymentRefunded",)),
        Step("order", "PaymentRefunded"),
    ),
    "cancelled: payment_timeout": (
        Step("order", "PlaceOrder", ("OrderPlaced", "payment_deadline")),
        RESERVED,
        CHARGED,
        Step("order", "payment_deadline.succeeded", ("OrderCancelled",)),
        RELEASED,
        VOIDED,
        Step("payment", "void.succeeded"),
    ),
    "needs_attention, and the way back": (
        PLACED,
        RESERVED,
        CHARGED,
        CANCELLED,
        RELEASED,
        VOIDED,
        FOUND_CAPTURED,
        Step("payment", "refund.failed", ("RefundFailed",)),
        Step("order", "RefundFailed", ("OrderNeedsAttention",)),
        Step("payment", "RetryRefund", ("refund",)),
        Step("payment", "refund.succeeded", ("PaymentRefunded",)),
        Step("order", "PaymentRefunded", ("OrderCancelled",)),
    ),
}

Tables = Mapping[str, Handlers[Any]]


class UntrueStep(ValueError):
    """A step of a path that no handler table has."""


def load_tables() -> Tables:
    """The handler table of every service that has one, in the order of the saga."""
    root = HERE.parent / "services"
    names = [name for name in ORDER if (root / name / "handlers.py").exists()]
    return {name: import_module(f"services.{name}.handlers").HANDLERS for name in names}


def render(tables: Tables) -> str:
    """The whole page."""
    page = TEMPLATE.read_text()
    parts = {
        "paths": _paths(tables),
        "events": _events(tables),
        "services": "\n\n".join(_service(name, table) for name, table in tables.items()),
    }
    for name, text in parts.items():
        page = page.replace(f"{{{{{name}}}}}", text)
    return page


def _paths(tables: Tables) -> str:
    return "\n\n".join(
        f"**{ending}**\n\n{_numbered(_told(step, tables) for step in steps)}"
        for ending, steps in PATHS.items()
    )


def _numbered(lines: Iterable[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))


def _told(step: Step, tables: Tables) -> str:
    line = tables[step.service].get(step.input)
    if line is None or not {*step.outputs} <= {*line.emits, *line.jobs}:
        raise UntrueStep(f"{step.service} does not answer {step.input} with {step.outputs}")
    answers = [f"job `{name}`" if name in line.jobs else f"`{name}`" for name in step.outputs]
    return f"{step.service}: {_input(line)}" + (f" → {', '.join(answers)}" if answers else "")


def _events(tables: Tables) -> str:
    lines = [(name, line) for name, table in tables.items() for line in table.values()]
    said_by = {event: name for name, line in lines for event in line.emits}
    readers: dict[str, list[str]] = {event: [] for event in said_by}
    for name, line in lines:
        if line.source not in ("api", "job"):
            said_by.setdefault(line.type, line.source.removesuffix(".events"))
            readers.setdefault(line.type, []).append(name)
    rows = [
        (f"`{event}`", said_by[event], ", ".join(names) or "nobody here")
        for event, names in readers.items()
    ]
    return _table(("Event", "Said by", "Read by"), rows)


def _service(name: str, table: Handlers[Any]) -> str:
    domain = import_module(f"services.{name}.domain")
    moves = getattr(domain, "TRANSITIONS", {})
    rows = [
        (
            _input(line),
            _sentence(line.rule.__doc__ or ""),
            _moves(moves, line.type),
            _codes(line.emits),
            _codes(line.jobs),
            f"`{line.undoes}`" if line.undoes else "",
        )
        for line in table.values()
    ]
    header = ("Input", "Rule", "Moves", "Events", "Jobs", "Undoes")
    return f"### {name}\n\n{_table(*_without_empty(header, _shared(rows)))}{_ignored(domain)}"


def _shared(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """One row for all inputs that share everything else."""
    merged: dict[tuple[str, ...], list[str]] = {}
    for first, *rest in rows:
        merged.setdefault(tuple(rest), []).append(first)
    return [("<br>".join(inputs), *rest) for rest, inputs in merged.items()]


def _without_empty(
    header: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    used = [any(row[column] for row in rows) for column in range(len(header))]
    return list(compress(header, used)), [list(compress(row, used)) for row in rows]


def _input(line: On[Any]) -> str:
    return f"`{line.type}`" + {"api": " (API)", "job": " (job)"}.get(line.source, "")


def _moves(moves: Mapping[tuple[str | None, str], str], input_type: str) -> str:
    told = []
    for (before, step), after in moves.items():
        base, _, case = step.partition(":")
        if base == input_type:
            told.append(f"{case + ': ' if case else ''}{before or 'none'} → {after}")
    return "<br>".join(told)


def _ignored(domain: Any) -> str:
    reasons: Mapping[str | None, str] = getattr(domain, "IGNORED", {})
    if not reasons:
        return ""
    told = ", ".join(f"{status or 'none'}: `ignored:{why}`" for status, why in reasons.items())
    return f"\n\nWhat does not apply, by status: {told}."


def _sentence(docstring: str) -> str:
    return " ".join(docstring.split("\n\n", maxsplit=1)[0].split()).replace("``", "`")


def _codes(names: Sequence[str]) -> str:
    return "<br>".join(f"`{name}`" for name in names)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(finish(TARGET, render(load_tables()), "docs.generate_saga"))
