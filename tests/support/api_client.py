"""HTTP requests to an API server as any user, with its own error messages."""

from __future__ import annotations

import ssl
import tempfile
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import yaml

_TIMEOUT_SECONDS = 30


class ApiClient:
    """What an administrator may ask of an API server, for itself or as somebody else.

    Args:
        kubeconfig: of the administrator, with everything inside.
    """

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        context = ssl.create_default_context(cadata=b64decode(cluster["certificate-authority-data"]).decode())
        with tempfile.NamedTemporaryFile() as pair:
            pair.write(b64decode(user["client-certificate-data"]) + b64decode(user["client-key-data"]))
            pair.flush()
            context.load_cert_chain(pair.name)
        self._http = httpx.Client(base_url=cluster["server"], verify=context, trust_env=False, timeout=_TIMEOUT_SECONDS)
        self._kinds: dict[str, dict[str, str]] = {}

    def close(self) -> None:
        self._http.close()

    def request(
        self,
        method: str,
        manifest: Mapping[str, Any],
        *,
        user: str | None = None,
        groups: tuple[str, ...] = (),
        subresource: str = "",
        dry_run: bool = False,
        body: Mapping[str, Any] | None = None,
        collection: bool = False,
        applied: bool = False,
    ) -> httpx.Response:
        """Ask for a change of an object.

        Args:
            method: of HTTP: POST creates the object, PATCH merges `body` into it, DELETE deletes it.
            manifest: the object, or as much as names it.
            user: whom to ask as; an administrator where left out.
            groups: further groups of that user.
            subresource: of the object.
            dry_run: change nothing.
            body: what to send instead of the manifest.
            collection: ask for all objects of this kind and namespace instead.
            applied: with PATCH, apply `body` on the server's side.
        """
        path = self._path(manifest, named=bool(subresource) or (method != "POST" and not collection))
        patch = "application/apply-patch+yaml" if applied else "application/merge-patch+json"
        headers = [("Content-Type", patch if method == "PATCH" else "application/json")]
        headers += [("Impersonate-User", user)] if user else []
        headers += [("Impersonate-Group", group) for group in groups]
        return self._http.request(
            method,
            f"{path}/{subresource}" if subresource else path,
            params=({"dryRun": "All"} if dry_run else {}) | ({"fieldManager": "tenant"} if applied else {}),
            headers=headers,
            json=None if method in ("GET", "DELETE") else body if body is not None else manifest,
        )

    def apply(self, manifest: Mapping[str, Any]) -> None:
        """Create or change an object, as its administrator; it has to work."""
        response = self._http.patch(
            self._path(manifest, named=True),
            params={"fieldManager": "test", "force": "true"},
            headers={"Content-Type": "application/apply-patch+yaml"},
            json=manifest,
        )
        assert response.is_success, f"{manifest['kind']} {manifest['metadata']['name']}: {response.text}"

    def get(self, path: str) -> dict[str, Any]:
        """What stands at a path of the API, e.g. `/api/v1/namespaces/apps`."""
        response = self._http.get(path)
        assert response.is_success, response.text
        found: dict[str, Any] = response.json()
        return found

    def text(self, path: str) -> str:
        """What stands at a path that is not JSON, e.g. `/metrics`."""
        return self._http.get(path).raise_for_status().text

    def is_ready(self) -> bool:
        try:
            return self._http.get("/readyz").is_success
        except httpx.HTTPError:
            return False

    def _path(self, manifest: Mapping[str, Any], *, named: bool) -> str:
        version, metadata = manifest["apiVersion"], manifest["metadata"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        namespace = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
        name = f"/{metadata['name']}" if named else ""
        return f"{root}{namespace}/{self._resource(root, manifest['kind'])}{name}"

    def _resource(self, root: str, kind: str) -> str:
        if kind not in self._kinds.get(root, {}):
            found = self.get(root)["resources"]
            self._kinds[root] = {each["kind"]: each["name"] for each in found if "/" not in each["name"]}
        return self._kinds[root][kind]
