"""The mail server as this service sees it: one call, and what each answer means.

Whatever a call raises: `Refused` means that the server will never take this mail, `RetryLater`
that it did not now or did not say, `Postpone` that it could not be reached. No text of an error
goes further than this module: a mail server repeats addresses in its answers.
"""

import smtplib
from contextlib import suppress
from dataclasses import dataclass
from email.message import EmailMessage

from opentelemetry.trace import SpanKind

from services.eventkit import tracing
from services.eventkit.jobs import Postpone, Refused, RetryLater

_HELLO = "order-saga.example"  # given, because smtplib would ask the DNS for this machine's name
_FINAL = 500


@dataclass(frozen=True, slots=True)
class MailServer:
    """A mail server; ``timeout`` is the longest wait for each of its answers, in seconds."""

    host: str
    port: int
    timeout: float

    def send(self, mail: EmailMessage) -> None:
        """Hand the mail over; returns once the server has taken it."""
        attributes = {
            "server.address": self.host,
            "server.port": self.port,
            "saga.mail.message_id": str(mail["Message-ID"]),
        }
        with tracing.span("smtp send", SpanKind.CLIENT, attributes=attributes):
            connection = self._connect()
            try:
                _hand_over(connection, mail)
                # The mail is taken: whatever goes wrong now must not have it sent again.
                with suppress(OSError):
                    connection.quit()
            finally:
                connection.close()

    def _connect(self) -> smtplib.SMTP:
        try:
            return smtplib.SMTP(self.host, self.port, _HELLO, self.timeout)
        except smtplib.SMTPException as error:
            raise RetryLater(f"no greeting: {type(error).__name__}") from None
        except OSError as error:
            raise Postpone(f"no connection: {type(error).__name__}") from None


def _hand_over(connection: smtplib.SMTP, mail: EmailMessage) -> None:
    try:
        connection.send_message(mail)
    except smtplib.SMTPRecipientsRefused as error:
        raise _answered(max(code for code, _ in error.recipients.values())) from None
    except (smtplib.SMTPHeloError, smtplib.SMTPSenderRefused) as error:
        # It will not have us, whoever the mail is for.
        raise RetryLater(f"answered {error.smtp_code} to us") from None
    except smtplib.SMTPResponseException as error:
        raise _answered(error.smtp_code) from None
    except OSError as error:
        raise RetryLater(f"no answer: {type(error).__name__}") from None


def _answered(code: int) -> Exception:
    if code >= _FINAL:
        return Refused(f"smtp_{code}")
    return RetryLater(f"answered {code}")
