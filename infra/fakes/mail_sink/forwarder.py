"""Passes copies of accepted mails on to a mail server that has pages to read them."""

import smtplib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import structlog

TIMEOUT_SECONDS = 10.0

_log = structlog.get_logger(__name__)


class Forwarder:
    """One thread that sends one copy after the other; a copy that cannot be sent is let go.

    Nobody waits for it and nothing is counted by it: the sink itself has the mail.
    """

    def __init__(self, host: str, port: int) -> None:
        """Forwards nothing where ``host`` is empty."""
        self._host, self._port = host, port
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="forwarder")

    def forward(self, sender: str, recipients: Sequence[str], content: bytes) -> None:
        """Hand a mail over, and return at once."""
        if self._host:
            self._thread.submit(self._send, sender, list(recipients), content)

    def close(self) -> None:
        """Forget what has not been sent yet."""
        self._thread.shutdown(cancel_futures=True)

    def _send(self, sender: str, recipients: list[str], content: bytes) -> None:
        try:
            with smtplib.SMTP(self._host, self._port, timeout=TIMEOUT_SECONDS) as server:
                server.sendmail(sender, recipients, content)
        except (OSError, smtplib.SMTPException) as error:
            _log.warning("copy_not_forwarded", reason=str(error))
