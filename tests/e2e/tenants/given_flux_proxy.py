"""A forward proxy for Flux's controllers, and a tenant whose build includes files by URL."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.support.environment import Environment, base
from tests.support.lab import Lab

TENANT, NAMESPACE = "proxied", "proxied-apps"
ALLOWED, REFUSED = "files.example.com", "files.example.net"
FILE = b"{apiVersion: v1, kind: ConfigMap, metadata: {name: fetched}, data: {a: b}}"


def start_proxy() -> str:
    """A proxy that lets requests to one host through, and answers them itself: the lab has no such host.

    It runs until this process ends. Returns its address, which lists the requests: the method and the target of each.
    """
    asked: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            asked.append(("CONNECT", self.path))
            self.send_error(403)

        def do_GET(self) -> None:
            if self.path == "/":
                self._answer(json.dumps(asked).encode())
                return
            asked.append(("GET", self.path))
            if urlsplit(self.path).hostname == ALLOWED:
                self._answer(FILE)
            else:
                self.send_error(403)

        def _answer(self, content: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def asked_of_proxy(stack: Environment) -> list[tuple[str, str]]:
    """The requests to the proxy so far."""
    found = httpx.get(stack.config["flux"]["egress"]["proxy"], trust_env=False).json()
    return [(method, target) for method, target in found]


def including(url: str) -> str:
    return f"resources: ['{url}/config-map.yaml']\n"


def add(stack: Environment, lab: Lab) -> None:
    files = {
        "allowed/kustomization.yaml": including(f"http://{ALLOWED}"),
        "refused-http/kustomization.yaml": including(f"http://{REFUSED}"),
        "refused-https/kustomization.yaml": including(f"https://{REFUSED}"),
    }
    lab.repository(TENANT, "apps", files, stack.project.folder.parent / "proxied", private=True)
    own = {"policies": {"sources": [f"https://{REFUSED}/*"]}}
    stack.project.tenant(TENANT, base(lab, f"{TENANT}/apps", NAMESPACE) | own)
    stack.onboard(TENANT, "./allowed")
    stack.config["flux"].setdefault("egress", {})["proxy"] = start_proxy()
