"""A tenant as a client of the API server; each request is timed until the last byte of its response."""

from __future__ import annotations

import base64
import ssl
import time
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx
import yaml

from dev.lab.errors import LabError
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.operations.admission.answers import Response

_TIMEOUT_SECONDS = 30
_ATTEMPTS = 5


class TenantClient(httpx.Client):
    """The bearer of a token, on one connection that is kept alive; a kubeconfig names the API server.

    All requests raise LabError if they are not answered.
    """

    def __init__(self, kubeconfig: Path, token: str) -> None:
        cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        super().__init__(
            base_url=cluster["server"],
            headers={"Authorization": f"Bearer {token}"},
            verify=ssl.create_default_context(cadata=authority),
            trust_env=False,
            timeout=_TIMEOUT_SECONDS,
        )

    def request(self, method: str, *arguments: Any, **options: Any) -> httpx.Response:
        try:
            return super().request(method, *arguments, **options)
        except httpx.HTTPError as error:
            raise LabError(f"{method} {arguments[0]} was not answered: {error}", "see the API server's log") from error

    def timed(self, method: str, path: str, body: Manifest | None = None) -> float:
        """Seconds of a request; raises LabError if it is refused.

        A request that conflicts is repeated, as controllers do, and only the last attempt counts: a client that
        creates and deletes this fast sometimes updates a quota at the same time as the quota controller.
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
                "fix the cause; a refused request cannot be measured",
            )
        return seconds

    def read(self, path: str) -> Manifest:
        """The object at a path."""
        content: Manifest = self.get(path).raise_for_status().json()
        return content

    def ask(self, method: str, path: str, body: Manifest | None = None) -> Response:
        """The API server's answer, which may be a refusal."""
        headers = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else None
        found = self.request(method, path, json=body, headers=headers)
        return Response(found.status_code, message="" if found.is_success else found.json().get("message", ""))
