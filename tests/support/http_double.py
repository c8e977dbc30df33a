"""Doubles of services: an HTTP server on loopback that a function answers for."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from dev.lab.processes import LOOPBACK


@dataclass(frozen=True)
class Asked:
    """A request; its path includes the query."""

    method: str
    path: str
    headers: Message
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else None


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_json(cls, status: int, content: Any) -> Answer:
        return cls(status, json.dumps(content).encode(), {"Content-Type": "application/json"})


def serving(answer: Callable[[Asked], Answer], context: ssl.SSLContext | None = None) -> ThreadingHTTPServer:
    """Start a server that runs until it is stopped or the process ends.

    Args:
        answer: called for each request, in a thread of its connection.
        context: for HTTPS.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Headers and body in one packet: the other end waits before it acknowledges the first of two.
        wbufsize = -1

        def _do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            found = answer(Asked(self.command, self.path, self.headers, body))
            self.send_response(found.status)
            for name, value in {"Content-Length": str(len(found.body)), **found.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                with suppress(ConnectionError):  # A client may have been killed.
                    self.wfile.write(found.body)

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _do

        def log_message(self, *_: object) -> None:
            """Nothing: the test tells what matters."""

    server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    # The default of half a second between two looks would be the longest part of many tests.
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    return server


def stop(server: ThreadingHTTPServer) -> None:
    server.shutdown()
    server.server_close()
