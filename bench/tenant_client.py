"""A tenant at the API server, on one connection: every request timed until the last byte of its answer."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import time
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import yaml

from components.cluster.manifests import Manifest
from lab.errors import LabError
from operations.admission_answers import Answer

_TIMEOUT_SECONDS = 30
_ATTEMPTS = 5
_CONTENT_TYPES = {"POST": "application/json", "PATCH": "application/merge-patch+json"}


class TenantClient:
    """The connection; it is kept alive, and used for one request after the other."""

    def __init__(self, kubeconfig: Path, token: str) -> None:
        """
        Args:
            kubeconfig: leads to the API server; its user is not used.
            token: of the tenant's service account.
        """
        cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        server = urlsplit(cluster["server"])
        self._connection = http.client.HTTPSConnection(
            server.hostname or "",
            server.port,
            timeout=_TIMEOUT_SECONDS,
            context=ssl.create_default_context(cadata=authority),
        )
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}

    def __enter__(self) -> TenantClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._connection.close()

    def timed(self, method: str, path: str, body: Manifest | None = None) -> float:
        """Seconds of a request that the API server grants.

        A conflict is asked again, as controllers do, and only the last attempt counts: who creates and deletes this
        fast now and then meets the quota controller at the same quota.

        Raises:
            LabError: it refuses, or does not answer.
        """
        for _ in range(_ATTEMPTS):
            begin = time.perf_counter()
            answer = self.ask(method, path, body)
            seconds = time.perf_counter() - begin
            if answer.status != HTTPStatus.CONFLICT:
                break
        if answer.refused:
            raise LabError(
                f"{method} {path} was answered with {answer.status}: {answer.message}",
                "put right what it says; a benchmark of something that fails means nothing",
            )
        return seconds

    def read(self, path: str) -> Manifest:
        """The object at a path.

        Raises:
            LabError: the API server refuses it, or does not answer.
        """
        status, _, text = self._request("GET", path)
        if status >= HTTPStatus.BAD_REQUEST:
            raise LabError(f"GET {path} was answered with {status}: {_message(status, text)}", "put right what it says")
        content: Manifest = json.loads(text)
        return content

    def ask(self, method: str, path: str, body: Manifest | None = None) -> Answer:
        """What the API server answers.

        Raises:
            LabError: it does not answer.
        """
        status, warnings, text = self._request(method, path, body)
        return Answer(status, warnings, _message(status, text))

    def _request(self, method: str, path: str, body: Manifest | None = None) -> tuple[int, Sequence[str], bytes]:
        """Status, warnings and body of an answer."""
        content = json.dumps(body).encode() if body is not None else None
        headers = self._headers | ({"Content-Type": _CONTENT_TYPES[method]} if content else {})
        try:
            self._connection.request(method, path, content, headers)
            response = self._connection.getresponse()
            text = response.read()
        except (http.client.HTTPException, OSError) as error:
            # The next request opens another connection.
            self._connection.close()
            raise LabError(f"{method} {path} was not answered: {error}", "look at the log of the API server") from error
        return response.status, response.headers.get_all("Warning", ()), text


def _message(status: int, text: bytes) -> str:
    if status < 400:
        return ""
    content: Any = json.loads(text)
    return str(content.get("message", ""))
