"""A receiver of Flux's messages: an HTTPS server on loopback that keeps what is posted to it."""

from __future__ import annotations

import json
import ssl
import threading
import time
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import trustme

from dev.lab.processes import LOOPBACK


@dataclass(frozen=True)
class Posted:
    """One message.

    Attributes:
        path: the path it was posted to.
        event: the event, as notification-controller encodes it for type `generic`.
        at: when it arrived, by `time.monotonic`.
    """

    path: str
    event: dict[str, Any]
    at: float


class MessageReceiver:
    """The server, which runs until the process ends.

    Attributes:
        authority: PEM of the authority that signed its certificate.
        messages: what was posted so far.
    """

    def __init__(self) -> None:
        authority = trustme.CA()
        self.authority = authority.cert_pem.bytes().decode()
        self.messages: list[Posted] = []
        messages = self.messages

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                messages.append(Posted(self.path, json.loads(body), time.monotonic()))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(LOOPBACK).configure_cert(context)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def host(self) -> str:
        """Host and port, as an allow-list has them."""
        return f"{LOOPBACK}:{self._server.server_port}"

    def url(self, path: str) -> str:
        return f"https://{self.host}{path}"

    def find(self, saying: str) -> Posted | None:
        """The first message that contains a text, if there is one."""
        return next((each for each in self.messages if saying in each.event["message"]), None)


@cache
def receiver() -> MessageReceiver:
    """The receiver of this process; pytest imports what is in the folder of a conftest under two names."""
    return MessageReceiver()
