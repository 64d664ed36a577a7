"""The stand-ins record a server span for each request, in the caller's trace."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.integration.fakes.bank import charge, new_key
from tests.integration.fakes.conftest import PROVIDER
from tests.integration.fakes.processes import Running

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


class Collector:
    """An OTLP endpoint that keeps what it is sent."""

    def __init__(self) -> None:
        self.received: Queue[ExportTraceServiceRequest] = Queue()
        received = self.received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                received.put(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def spans(self) -> list[tuple[str, Span]]:
        """Service name and span of all that has been received so far."""
        found = []
        while not self.received.empty():
            for group in self.received.get().resource_spans:
                names = {a.key: a.value.string_value for a in group.resource.attributes}
                found += [
                    (names["service.name"], span)
                    for scope in group.scope_spans
                    for span in scope.spans
                ]
        return found

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector that listens."""
    running = Collector()
    yield running
    running.close()


def test_a_charge_continues_the_callers_trace(tmp_path: Path, collector: Collector) -> None:
    provider = Running(PROVIDER, tmp_path, SAGA_OTLP_ENDPOINT=collector.url)
    provider.start()
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
    with httpx.Client(base_url=provider.url, headers=headers) as client:
        assert charge(client, new_key()).status_code == 201
    assert provider.stop() == 0
    ((service, span),) = collector.spans()
    assert service == "payment-provider"
    assert span.kind == Span.SPAN_KIND_SERVER
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
    assert span.name == "POST /charges"
