"""A real API server alone, for what it decides by itself: seconds to start, and nobody else writes to it."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from lab.control_plane import APISERVER, ETCD, NODE_NAME, ControlPlane, Network
from lab.kubeconfig import write_kubeconfig
from lab.pki import API_AUTHORITY
from lab.processes import Daemon, bring_up, is_free, stop_all

TOOLS = (ETCD, APISERVER)
_TIMEOUT = 60.0


class ApiServer:
    """An etcd and an API server, and HTTP requests to it as any user.

    Attributes:
        kubeconfig: of an administrator.
    """

    def __init__(self, folder: Path, first_port: int) -> None:
        self._plane = ControlPlane(folder, Network(first_port))
        self.kubeconfig = folder / "kubeconfig"
        self._kinds: dict[str, dict[str, str]] = {}

    def start(self, tools: Mapping[str, Path]) -> None:
        plane = self._plane
        plane.pki.renew()
        admin = plane.pki.pair("admin")
        authority = plane.pki.pair(API_AUTHORITY).certificate
        write_kubeconfig(self.kubeconfig, NODE_NAME, plane.network.server, authority, admin)
        context = ssl.create_default_context(cafile=authority)
        context.load_cert_chain(admin.certificate, admin.key)
        self._http = httpx.Client(base_url=plane.network.server, verify=context, trust_env=False, timeout=30)
        self._daemons = {part: self._daemon(part) for part in TOOLS}
        bring_up([{daemon: plane.command(part, tools[part]) for part, daemon in self._daemons.items()}], _TIMEOUT)

    def stop(self) -> None:
        self._http.close()
        stop_all(list(self._daemons.values()))

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
        """
        path = self._path(manifest, named=bool(subresource) or (method != "POST" and not collection))
        headers = [("Content-Type", "application/merge-patch+json" if method == "PATCH" else "application/json")]
        headers += [("Impersonate-User", user)] if user else []
        headers += [("Impersonate-Group", group) for group in groups]
        return self._http.request(
            method,
            f"{path}/{subresource}" if subresource else path,
            params={"dryRun": "All"} if dry_run else {},
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
        return response.json()

    def _daemon(self, part: str) -> Daemon:
        folder, ports = self._plane.folder, self._plane.network.ports(part)
        return Daemon(
            name=part,
            log=folder / f"{part}.log",
            pid_file=folder / f"{part}.pid",
            ports=ports,
            ready=self._is_ready if part == APISERVER else lambda: not is_free(ports[0]),
        )

    def _is_ready(self) -> bool:
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
