"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

OrderId = Annotated[str, typer.Argument(help="The order's id, as orderctl place printed it.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="The file to write.")]
TaskWait = Annotated[bool, typer.Option("--wait", help="Wait for its end, with a bar.")]
TaskKey = Annotated[
    str | None, typer.Option("--key", help="Idempotency key: a repeat is answered.")
]
TaskLimit = Annotated[int, typer.Option("--limit", help="How many.", min=1, max=500)]
TaskTimeout = Annotated[float, typer.Option("--timeout", help="Seconds to wait at most.")]
