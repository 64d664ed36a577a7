"""The smallest HTTP server that answers for a process: health and metrics, nothing else."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest


@contextmanager
def serve(host: str, port: int, why_not_ready: Callable[[], str]) -> Iterator[None]:
    """``/health/live``, ``/health/ready`` and ``/metrics`` for as long as the block lasts.

    ``why_not_ready`` returns nothing while the process can do its work.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/health/live":
                self._answer(200, json.dumps({"status": "live"}))
            elif self.path == "/health/ready":
                why = why_not_ready()
                body = {"status": "not ready" if why else "ready", "reasons": [why] if why else []}
                self._answer(503 if why else 200, json.dumps(body))
            elif self.path == "/metrics":
                self._answer(200, generate_latest().decode(), CONTENT_TYPE_LATEST)
            else:
                self._answer(404, json.dumps({"title": "Not found"}))

        def _answer(self, status: int, text: str, kind: str = "application/json") -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Health checks are not worth a line."""

    server = ThreadingHTTPServer((host, port), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
