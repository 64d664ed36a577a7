"""Times as the stand-ins store and show them: UTC, RFC 3339, milliseconds."""

from datetime import UTC, datetime, timedelta


def utc_text(moment: datetime) -> str:
    """``moment`` as text; texts of this form sort like the times they mean."""
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def now_text(plus_ms: int = 0) -> str:
    """The present time, ``plus_ms`` milliseconds later, as text."""
    return utc_text(datetime.now(UTC) + timedelta(milliseconds=plus_ms))


def seconds_until(text: str) -> float:
    """Seconds from now to the time in ``text``; zero when it has passed."""
    return max(0.0, (datetime.fromisoformat(text) - datetime.now(UTC)).total_seconds())
