"""The options of ``orderctl replay``: which go together, and where a replay in place begins."""

import re
from collections.abc import Mapping, Sequence

from services.eventkit.envelope import InvalidEnvelope, parse_time
from services.eventkit.positions import Place
from services.orderctl.errors import CliError
from services.projector import replay as library
from services.projector.settings import TOPICS

MODES = ("--topic", "--shadow", "--rollback", "--drop")
STARTS = ("--from-beginning", "--from-offset", "--partition-offsets", "--from-time")
GOES_WITH: Mapping[str, str] = {
    **dict.fromkeys(STARTS, "--topic"),
    "--dry-run": "--topic",
    "--no-swap": "--shadow",
    "--accept-differences": "--shadow",
    "--processes": "--shadow",
}
"""What each option needs."""

_INSTEAD: Mapping[tuple[str, str], str] = {
    **{
        (start, "--shadow"): "a shadow always begins at the beginning of every topic, leave it out"
        for start in STARTS
    },
    ("--dry-run", "--shadow"): "give --no-swap, which builds and compares only",
    ("--no-swap", "--topic"): "give --dry-run, which changes nothing",
}
_EXCLUDE = {
    ("--no-swap", "--accept-differences"): "leave one out: without a swap nothing is accepted",
    ("--topic", "--model analytics"): (
        "leave --model out: only the projector reads again in place, --shadow builds figures anew"
    ),
}


def check_options(given: Mapping[str, bool]) -> None:
    """Refuses options that do not go together; ``given`` says of each by name if it is there."""
    names = {name for name, there in given.items() if there}
    modes = [name for name in MODES if name in names]
    if len(modes) != 1:
        raise CliError(f"give one of {', '.join(MODES[:-1])} and {MODES[-1]}", code=2)
    (mode,) = modes
    for name, wanted in GOES_WITH.items():
        if name in names and wanted != mode:
            instead = _INSTEAD.get((name, mode), f"leave it out, it goes with {wanted} only")
            raise CliError(f"{name} does not go with {mode}: {instead}", code=2)
    for (one, other), what in _EXCLUDE.items():
        if {one, other} <= names:
            raise CliError(f"{one} and {other} do not go together: {what}", code=2)


def topics_of(given: list[str]) -> list[str]:
    """Each topic once; refuses one that the projector does not read."""
    topics = list(dict.fromkeys(given))
    if unread := [topic for topic in topics if topic not in TOPICS]:
        raise CliError(
            f"the projector does not read {', '.join(unread)}",
            f"it reads {', '.join(TOPICS)}",
            code=2,
        )
    return topics


def check_partitions(start: library.Start | library.FromTime, places: Sequence[Place]) -> None:
    """Refuses offsets of partitions that a topic has not got; ``places`` are all of the topics."""
    if not isinstance(start, library.FromOffsets):
        return
    for topic in dict.fromkeys(topic for topic, _ in places):
        known = [number for name, number in places if name == topic]
        if missing := sorted(set(start.offsets) - set(known)):
            raise CliError(
                f"{topic} has no partition {', '.join(map(str, missing))}",
                f"it has {', '.join(map(str, known))}",
                code=2,
            )


def start_of(
    from_beginning: bool,
    from_offset: int | None,
    partition_offsets: str | None,
    from_time: str | None,
) -> library.Start | library.FromTime:
    """Where to begin; refuses none, several, and what is no offset or time."""
    given = (from_beginning or None, from_offset, partition_offsets, from_time)
    if sum(one is not None for one in given) != 1:
        raise CliError(
            "give one of --from-beginning, --from-offset N, --partition-offsets P:N,... and "
            "--from-time T",
            code=2,
        )
    if from_offset is not None:
        return library.FromOffset(from_offset)
    if partition_offsets is not None:
        return library.FromOffsets(_offsets(partition_offsets))
    if from_time is not None:
        return library.FromTime(_unix_ms(from_time))
    return library.FromBeginning()


def _offsets(text: str) -> dict[int, int]:
    if not re.fullmatch(r"\d+:\d+(,\d+:\d+)*", text, re.ASCII):
        raise CliError(f"--partition-offsets is not partition:offset,...: {text!r}", code=2)
    offsets: dict[int, int] = {}
    for pair in text.split(","):
        partition, offset = map(int, pair.split(":"))
        if partition in offsets:
            raise CliError(f"--partition-offsets has partition {partition} twice", code=2)
        offsets[partition] = offset
    return offsets


def _unix_ms(text: str) -> int:
    try:
        return int(parse_time(text).timestamp() * 1000)
    except InvalidEnvelope as error:
        raise CliError(f"--from-time is not a time with its zone: {text!r}", code=2) from error
