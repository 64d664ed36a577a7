"""The verdict on one page, in Markdown: for a terminal, a file, and the documentation."""

from collections.abc import Iterator

from tests.chaos.promises import broken
from tests.chaos.verdict import Target, Verdict

KINDS = ("kill", "stop", "pause", "restart", "cut", "delay", "silence")
PROBLEMS_SHOWN = 10


def page(verdict: Verdict, slow_after: float) -> str:
    """The whole page."""
    return "\n".join(_lines(verdict, slow_after)) + "\n"


def _lines(verdict: Verdict, slow_after: float) -> Iterator[str]:
    options, counts = verdict.options, broken(verdict.results)
    held = "held" if verdict.held else "BROKEN"
    yield f"# Chaos, seed {options.seed}: {held}"
    yield ""
    yield "  ".join(f"{promise} **{count}**" for promise, count in counts.items())
    yield ""
    kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(verdict.kinds.items(), key=_by_kind))
    endings = ", ".join(f"{n} {ending}" for ending, n in verdict.endings.items())
    again = ", ".join(f"{n} × {why}" for why, n in verdict.posts_without_answer.items())
    yield f"- `{options.command}`, begun {verdict.began:%Y-%m-%d %H:%M} UTC, {verdict.machine}"
    yield f"- {verdict.seconds / 60:.1f} minutes, {len(verdict.recoveries)} actions: {kinds}"
    median = _s(verdict.ended_median)
    yield f"- {verdict.orders} orders accepted: {endings}; median to the ending {median}"
    yield f"- requests sent again: {again or 'none'}"
    yield f"- mails that arrived again under the same message id: {verdict.mail_copies}"
    yield ""
    yield from _table(verdict.targets(slow_after), slow_after)
    yield from _problems(verdict)


def _table(targets: list[Target], slow_after: float) -> Iterator[str]:
    yield f"| disturbed | {' | '.join(KINDS)} | recovery p50 | max | over {slow_after:.0f} s |"
    yield "|---|" + "---:|" * (len(KINDS) + 3)
    for target in targets:
        counts = " | ".join(str(target.actions.get(kind, "")) for kind in KINDS)
        slow = str(target.slow or "")
        yield f"| {target.name} | {counts} | {_s(target.p50)} | {_s(target.longest)} | {slow} |"


def _problems(verdict: Verdict) -> Iterator[str]:
    for recovery in verdict.unrecovered:
        yield f"- never recovered from: {recovery.action}"
    for result in verdict.results:
        for problem in result.finding.problems[:PROBLEMS_SHOWN]:
            yield f"- {result.name}: {problem}"
        if (more := len(result.finding.problems) - PROBLEMS_SHOWN) > 0:
            yield f"- {result.name}: and {more} more"


def _by_kind(item: tuple[str, int]) -> int:
    return KINDS.index(item[0])


def _s(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.1f} s"
