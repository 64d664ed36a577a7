"""The sink's SMTP side."""

import asyncio
import logging

import structlog
from aiosmtpd.smtp import SMTP, Envelope, Session

from infra.fakes.mail_sink.faults import faults_of
from infra.fakes.mail_sink.forwarder import Forwarder
from infra.fakes.mail_sink.mailbox import Mailbox, read_mail

ACCEPTED = "250 Message accepted"
REFUSED = "550 No such mailbox"
TRY_AGAIN = "451 Try again later"
MAX_MESSAGE_BYTES = 1_000_000

# aiosmtpd logs each line of each conversation: a lot, and full of addresses.
logging.getLogger("mail.log").setLevel(logging.WARNING)

_log = structlog.get_logger(__name__)


class Receiver:
    """What the server does with each recipient and each mail."""

    def __init__(self, mailbox: Mailbox, forwarder: Forwarder) -> None:
        self._mailbox = mailbox
        self._forwarder = forwarder

    async def handle_RCPT(  # noqa: N802 - the name aiosmtpd looks for
        self, _: SMTP, __: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Refuse or take a recipient."""
        if faults_of(address).refuse:
            return REFUSED
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 OK"

    async def handle_DATA(  # noqa: N802 - the name aiosmtpd looks for
        self, _: SMTP, __: Session, envelope: Envelope
    ) -> str:
        """Keep the mail for every recipient, then say so; 451 when one of them asks for it."""
        content = envelope.content
        if not isinstance(content, bytes):
            raise TypeError("mail content must be bytes")
        accepted = True
        slow_ms = 0
        for recipient in envelope.rcpt_tos:
            faults = faults_of(recipient)
            mail = read_mail(content, envelope.mail_from or "", recipient)
            accepted = await self._mailbox.deliver(mail, faults.flaky) and accepted
            slow_ms = max(slow_ms, faults.slow_ms)
        if accepted:
            self._forwarder.forward(envelope.mail_from or "", envelope.rcpt_tos, content)
        await asyncio.sleep(slow_ms / 1000)
        return ACCEPTED if accepted else TRY_AGAIN

    async def handle_exception(self, error: Exception) -> str:
        """A failure here is the sink's own: the client may try again."""
        _log.error("delivery_failed", exc_info=error)
        return TRY_AGAIN


async def listen(mailbox: Mailbox, forwarder: Forwarder, host: str, port: int) -> asyncio.Server:
    """Start to accept mail; raises OSError when the port is taken."""

    def protocol() -> SMTP:
        return SMTP(
            Receiver(mailbox, forwarder),
            hostname="mail-sink",
            ident="mail-sink",
            data_size_limit=MAX_MESSAGE_BYTES,
        )

    return await asyncio.get_running_loop().create_server(protocol, host, port)
