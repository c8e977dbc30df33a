"""An API server on loopback that has tenants' objects, and says to a dry run what the test lets it say."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
KYVERNO = "/apis/policies.kyverno.io/v1"


def _kinds(*kinds: str, namespaced: bool = True) -> list[dict[str, Any]]:
    """Kinds as discovery has them, each with the name of its resource before it."""
    named = (each.split() for each in kinds)
    return [{"name": name, "kind": kind, "namespaced": namespaced} for name, kind in named]


DISCOVERY: dict[str, dict[str, Any]] = {
    "/api/v1": {
        "resources": [*_kinds("services Service", "pods Pod"), *_kinds("namespaces Namespace", namespaced=False)]
    },
    "/apis/apps": {
        "preferredVersion": {"groupVersion": "apps/v1"},
        "versions": [{"groupVersion": "apps/v1"}, {"groupVersion": "apps/v1beta1"}],
    },
    "/apis/apps/v1": {
        "resources": _kinds("deployments Deployment", "deployments/scale Scale", "replicasets ReplicaSet")
    },
    "/apis/apps/v1beta1": {"resources": _kinds("deployments Deployment")},
    "/apis/notification.toolkit.fluxcd.io": {
        "preferredVersion": {"groupVersion": "notification.toolkit.fluxcd.io/v1"},
        "versions": [],
    },
    "/apis/notification.toolkit.fluxcd.io/v1": {"resources": _kinds("alerts Alert", "receivers Receiver")},
}


@dataclass(frozen=True)
class Said:
    """What the API server says to a dry run."""

    status: int = 201
    warnings: tuple[str, ...] = ()
    message: str = ""
    text: str = ""
    """The answer, if it is not JSON."""


def namespace(name: str, tenant: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"toolkit.fluxcd.io/tenant": tenant}, **metadata}}


def manifest(name: str, namespace: str = "apps", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace, **metadata}, "spec": {}}


@dataclass
class FakeCluster:
    """The cluster.

    Attributes:
        objects: lists by their path; they come one at a time, as a long list does.
        judge: what is said to a copy, by the object that is asked for.
        status: of every answer but those to dry runs, where it is not success.
        forbidden: paths that this user may not look at.
        broken: paths that are answered with an error of the server.
        asked: what was asked for in dry runs, with its path and query.
        answers: what is no list, by its path.
        patched: the patches, and the objects that replace others, each with its path and query.
        patching: answers a patch to a path.
        accepted: the Accept header of the last request for each path.
    """

    objects: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    judge: Callable[[dict[str, Any]], Said] = lambda _: Said()
    status: int = 200
    forbidden: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    answers: dict[str, dict[str, Any]] = field(default_factory=lambda: dict(DISCOVERY))
    patched: list[tuple[str, Any]] = field(default_factory=list)
    patching: Callable[[str, Any], dict[str, Any]] = lambda *_: {}
    accepted: dict[str, str] = field(default_factory=dict)

    def native(self, actions: tuple[str, ...], *policies: str) -> None:
        """Let it have ValidatingAdmissionPolicies."""
        self.objects[f"{ADMISSION}/validatingadmissionpolicies"] = [{"metadata": {"name": name}} for name in policies]
        self.objects[f"{ADMISSION}/validatingadmissionpolicybindings"] = [
            {"metadata": {"name": name}, "spec": {"policyName": name, "validationActions": list(actions)}}
            for name in policies
        ]

    def kyverno(self, actions: tuple[str, ...], *policies: str, configured: str = "True") -> None:
        """Let it have Kyverno's ValidatingPolicies, and a webhook."""
        self.objects[f"{ADMISSION}/validatingwebhookconfigurations"] = [
            {"metadata": {"name": "a"}, "webhooks": [{"name": "vpol.validate.kyverno.svc-fail"}]}
        ]
        conditions = [{"type": "WebhookConfigured", "status": configured}]
        self.objects[f"{KYVERNO}/validatingpolicies"] = [
            {
                "metadata": {"name": name},
                "spec": {"validationActions": list(actions)},
                "status": {"conditionStatus": {"conditions": conditions}},
            }
            for name in policies
        ]

    def page(self, path: str, query: dict[str, list[str]]) -> dict[str, Any] | None:
        if path in self.answers:
            return self.answers[path]
        if path not in self.objects:
            return self.one(path)
        found, at = self.objects[path], int(query.get("continue", ["0"])[0])
        more = {"continue": str(at + 1)} if at + 1 < len(found) else {}
        return {"metadata": more, "items": found[at : at + 1]}

    def one(self, path: str) -> dict[str, Any] | None:
        """An object by its path, which has its namespace."""
        collection, _, name = path.rpartition("/")
        listed = self.objects.get(re.sub("/namespaces/[^/]*(?=/)", "", collection), ())
        return next((each for each in listed if each["metadata"]["name"] == name), None)


@contextmanager
def served(cluster: FakeCluster, folder: Path) -> Iterator[str]:
    """The API server; a kubeconfig for it is written to the folder. Gives its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            cluster.accepted[url.path] = self.headers["Accept"]
            found = cluster.page(url.path, parse_qs(url.query)) if cluster.status == 200 else {}
            if url.path in cluster.forbidden:
                self.answer(403, {})
            elif url.path in cluster.broken:
                self.answer(500, {})
            else:
                self.answer(cluster.status if found is not None else 404, found or {})

        def do_PATCH(self) -> None:
            patch = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path = urlsplit(self.path).path
            if path in cluster.forbidden:
                self.answer(403, {})
                return
            cluster.patched.append((self.path, patch))
            self.answer(200, cluster.patching(path, patch))

        def do_PUT(self) -> None:
            whole = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            cluster.patched.append((self.path, whole))
            found = cluster.one(urlsplit(self.path).path)
            if found is not None:
                found.clear()
                found.update(whole)
            self.answer(200 if found is not None else 404, whole)

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            cluster.asked.append((self.path, asked))
            said = cluster.judge(asked)
            content = said.text or json.dumps({"message": said.message} if said.message else {})
            self.answer(said.status, content, said.warnings)

        def answer(self, status: int, content: dict[str, Any] | str, warnings: tuple[str, ...] = ()) -> None:
            self.send_response(status)
            for text in warnings:
                quoted = text.replace("\\", "\\\\").replace('"', '\\"')
                # UTF-8, as the API server writes it; this server takes headers for Latin-1.
                self.send_header("Warning", f'299 - "{quoted}"'.encode().decode("latin-1"))
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write((content if isinstance(content, str) else json.dumps(content)).encode())

        def log_message(self, *_: object) -> None:
            """Nothing: the test tells what matters."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # Lists are read in parallel: a connection that finds no place waits for a second.

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    write_kubeconfig(folder, url)
    try:
        yield url
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def write_kubeconfig(folder: Path, url: str) -> None:
    content = {
        "current-context": "lab",
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "me"}}],
        "clusters": [{"name": "lab", "cluster": {"server": url}}],
        "users": [{"name": "me", "user": {"token": "pa55word"}}],
    }
    (folder / "kubeconfig").write_text(yaml.safe_dump(content))
