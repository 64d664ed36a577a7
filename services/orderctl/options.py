"""Arguments and options that several commands share."""

from typing import Annotated

import typer

OrderId = Annotated[str, typer.Argument(help="The order's id, as orderctl place printed it.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]
