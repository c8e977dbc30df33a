"""The proxy in front of Gitea without its binary: a stand-in that serves HTTPS with the lab's certificate."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dev.lab.free_ports import free_port_base
from dev.lab.github_proxy import GithubProxy

FAKE = """
import ssl, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Healthy(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/api/healthz" else 404)
        self.end_headers()

flags = dict(argument[2:].split("=", 1) for argument in sys.argv[1:])
server = HTTPServer(("127.0.0.1", int(flags["https"].rpartition(":")[2])), Healthy)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(flags["tls-cert"], flags["tls-key"])
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replaces ``github-proxy``: the program is Python, and the stand-in its first argument."""
    fake = tmp_path / "github-proxy"
    fake.write_text(FAKE)
    real = GithubProxy._command
    monkeypatch.setattr(GithubProxy, "_command", lambda self, program: (sys.executable, *real(self, program)))
    return fake


@pytest.fixture
def proxy(tmp_path) -> Iterator[GithubProxy]:
    base = free_port_base(clusters=0)
    proxy = GithubProxy(tmp_path / "git-host", f"http://127.0.0.1:{base}", base + 2, base + 3)
    yield proxy
    proxy.daemon().stop()


def test_its_upstream_is_gitea_and_its_command_has_no_secret(proxy):
    command = proxy._command(Path("/tools/github-proxy"))

    assert command[0] == "/tools/github-proxy"
    assert f"--upstream={proxy.upstream}" in command
    assert f"--http=127.0.0.1:{proxy.http_port}" in command
    assert f"--https=127.0.0.1:{proxy.https_port}" in command
