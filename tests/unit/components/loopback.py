"""Servers on loopback for what goes wrong on the way to a server."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kubernetes.client import ApiClient, Configuration


def closed_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def serving(
    answers: Mapping[str, bytes],
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    asked: list[str] | None = None,
    statuses: Mapping[str, int] | None = None,
    bodies: list[bytes] | None = None,
    authorizations: list[str] | None = None,
) -> Iterator[str]:
    """An HTTP server that answers with `status` and what stands for the path (without its query); gives its URL.

    Args:
        answers: body by path; an empty object where there is none.
        status: status of every answer that `statuses` has none for.
        headers: more headers of every answer.
        asked: the path and query of each request is added to it, after the method where that changes something.
        statuses: status of the answer by path.
        bodies: the body of each request that has one is added to it.
        authorizations: the Authorization header of each request is added to it.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if asked is not None:
                asked.append(f"{self.command} {self.path}" if self.command in ("DELETE", "PATCH") else self.path)
            if authorizations is not None:
                authorizations.append(self.headers.get("Authorization", ""))
            if bodies is not None and (length := int(self.headers.get("Content-Length", 0))):
                bodies.append(self.rfile.read(length))
            path = self.path.split("?")[0]
            self.send_response((statuses or {}).get(path, status))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(answers.get(path, b"{}"))

        do_POST = do_DELETE = do_PATCH = do_GET

        def log_message(self, *_: object) -> None:
            """Nothing: the test tells what matters."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    # The default of half a second between two looks would be the longest part of each test.
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def api_client(answers: Mapping[str, object], status: int = 200, **options: Any) -> Iterator[ApiClient]:
    """A client of an API server that answers with these objects, otherwise as `serving` does."""
    with serving({path: json.dumps(each).encode() for path, each in answers.items()}, status, **options) as server:
        yield ApiClient(Configuration(host=server))
