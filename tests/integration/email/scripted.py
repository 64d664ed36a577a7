"""A mail server that says exactly what a test tells it to, or says nothing."""

import socket
import threading
from collections.abc import Mapping

GREETING = "greeting"
END_OF_DATA = "end of data"
SILENCE = ""
"""The answer of a server that closes the connection instead."""

FRIENDLY = {
    GREETING: "220 scripted",
    "EHLO": "250 scripted",
    "MAIL": "250 OK",
    "RCPT": "250 OK",
    "DATA": "354 go on",
    END_OF_DATA: "250 taken",
    "RSET": "250 OK",
    "QUIT": "221 bye",
}


class ScriptedServer:
    """Serves each connection with `FRIENDLY` answers, but for those in ``script``."""

    def __init__(self, script: Mapping[str, str]) -> None:
        self._answers = {**FRIENDLY, **script}
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.taken = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        lines = connection.makefile("rb")
        if not self._say(connection, GREETING):
            return
        in_data = False
        for line in lines:
            if in_data and line != b".\r\n":
                continue
            command = END_OF_DATA if in_data else line[:4].decode().upper()
            self.taken += command == END_OF_DATA
            if not self._say(connection, command):
                return
            in_data = command == "DATA" and self._answers["DATA"].startswith("354")

    def _say(self, connection: socket.socket, command: str) -> bool:
        answer = self._answers[command]
        if answer:
            connection.sendall(f"{answer}\r\n".encode())
        return bool(answer)
