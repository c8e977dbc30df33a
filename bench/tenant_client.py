"""A tenant as a client of the API server; each request is timed until the last byte of its response."""

from __future__ import annotations

import base64
import ssl
import time
from http import HTTPStatus
from pathlib import Path
from typing import Self

import httpx
import yaml

from components.cluster.manifests import Manifest
from lab.errors import LabError
from operations.admission_answers import Answer

_TIMEOUT_SECONDS = 30
_ATTEMPTS = 5


class TenantClient:
    """One connection that is kept alive; requests follow each other.

    All requests raise LabError if they are not answered, and all but `ask` if they are refused.

    Args:
        kubeconfig: names the API server; its user is ignored.
        token: token of the tenant's service account.
    """

    def __init__(self, kubeconfig: Path, token: str) -> None:
        cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._http = httpx.Client(
            base_url=cluster["server"],
            headers={"Authorization": f"Bearer {token}"},
            verify=ssl.create_default_context(cadata=authority),
            trust_env=False,
            timeout=_TIMEOUT_SECONDS,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def timed(self, method: str, path: str, body: Manifest | None = None) -> float:
        """Seconds of a request.

        A request that conflicts is repeated, as controllers do, and only the last attempt counts: a client that
        creates and deletes this fast sometimes updates a quota at the same time as the quota controller.
        """
        for _ in range(_ATTEMPTS):
            begin = time.perf_counter()
            answer = self.ask(method, path, body)
            seconds = time.perf_counter() - begin
            if answer.status != HTTPStatus.CONFLICT:
                break
        _raise_if_refused(answer, method, path)
        return seconds

    def read(self, path: str) -> Manifest:
        """The object at a path."""
        response = self._send("GET", path)
        _raise_if_refused(_answer(response), "GET", path)
        content: Manifest = response.json()
        return content

    def ask(self, method: str, path: str, body: Manifest | None = None) -> Answer:
        """The API server's answer, which may be a refusal."""
        return _answer(self._send(method, path, body))

    def _send(self, method: str, path: str, body: Manifest | None = None) -> httpx.Response:
        headers = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else None
        try:
            return self._http.request(method, path, json=body, headers=headers)
        except httpx.HTTPError as error:
            raise LabError(f"{method} {path} was not answered: {error}", "see the API server's log") from error


def _answer(response: httpx.Response) -> Answer:
    return Answer(response.status_code, message="" if response.is_success else response.json().get("message", ""))


def _raise_if_refused(answer: Answer, method: str, path: str) -> None:
    if answer.refused:
        raise LabError(
            f"{method} {path} was answered with {answer.status}: {answer.message}",
            "fix the cause; a refused request cannot be measured",
        )
