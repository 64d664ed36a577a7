"""Points in time as an API takes them: written out, with their offset from UTC."""

import re
from typing import Annotated, Any, Final

from pydantic import AwareDatetime, BeforeValidator

_RFC_3339: Final = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)", re.IGNORECASE
)


def rfc_3339(value: Any) -> str:
    """The value, where it is a date and time as in RFC 3339; raises ValueError.

    Pydantic alone takes a bare number, too, and reads it as seconds since 1970.
    """
    if not isinstance(value, str) or not _RFC_3339.fullmatch(value):
        raise ValueError("not a date and time as in RFC 3339")
    return value


Moment = Annotated[AwareDatetime, BeforeValidator(rfc_3339)]
