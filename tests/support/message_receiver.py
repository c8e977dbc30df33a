"""A receiver of Flux's messages: an HTTPS server on loopback that keeps what is posted to it."""

from __future__ import annotations

import ssl
import time
from dataclasses import dataclass
from functools import cache
from typing import Any

import trustme

from dev.lab.processes import LOOPBACK
from tests.support.http_double import Answer, Asked, serving


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
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(LOOPBACK).configure_cert(context)
        self._server = serving(self._keep, context)

    def _keep(self, asked: Asked) -> Answer:
        self.messages.append(Posted(asked.path, asked.json, time.monotonic()))
        return Answer()

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
