"""A stand-in for Mailpit: SMTP on 1025; of its HTTP API the list of messages and ``/readyz``."""

import json
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

MESSAGES: list[dict[str, object]] = []


class Receiver:
    """Keeps what a list of messages shows."""

    async def handle_DATA(self, _: SMTP, __: Session, envelope: Envelope) -> str:  # noqa: N802
        """Take every mail."""
        message = message_from_bytes(envelope.content or b"")  # type: ignore[arg-type]
        MESSAGES.insert(
            0,
            {
                "MessageID": str(message["Message-ID"]).strip("<>"),
                "From": {"Address": envelope.mail_from},
                "To": [{"Address": address} for address in envelope.rcpt_tos],
                "Subject": message["Subject"],
            },
        )
        return "250 2.0.0 Ok"


class Api(BaseHTTPRequestHandler):
    """``/readyz`` and ``/api/v1/messages``."""

    def do_GET(self) -> None:
        """Answer both, and nothing else."""
        path = self.path.split("?")[0]
        known = path in ("/readyz", "/api/v1/messages")
        self.send_response(200 if known else 404)
        self.end_headers()
        if path == "/api/v1/messages":
            shown = {"total": len(MESSAGES), "messages": MESSAGES[:50]}
            self.wfile.write(json.dumps(shown).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Health checks are not worth a line."""


if __name__ == "__main__":
    Controller(Receiver(), hostname="0.0.0.0", port=1025).start()
    ThreadingHTTPServer(("0.0.0.0", 8025), Api).serve_forever()
