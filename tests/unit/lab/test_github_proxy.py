"""The proxy in front of Gitea without its binary: a stand-in that serves HTTPS with the lab's certificate."""

import ssl
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509

from lab.free_ports import free_port_base
from lab.github_proxy import GithubProxy

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


def test_it_serves_with_a_certificate_of_the_labs_own_authority(proxy, program):
    proxy.up(program)

    assert proxy.daemon().ready()
    assert ssl.create_default_context(cafile=proxy.certificate_authority)
    names = x509.load_pem_x509_certificate(
        ssl.get_server_certificate(("127.0.0.1", proxy.https_port)).encode()
    ).extensions.get_extension_for_class(x509.SubjectAlternativeName).value  # fmt: skip
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]


def test_a_second_up_keeps_the_running_proxy(proxy, program):
    proxy.up(program)
    first = proxy.daemon().process()

    proxy.up(program)

    assert proxy.daemon().process() == first


def test_a_new_certificate_restarts_the_proxy(proxy, program):
    proxy.up(program)
    first, authority = proxy.daemon().process(), proxy.certificate_authority.read_text()
    proxy.certificate_authority.unlink()

    proxy.up(program)

    assert proxy.certificate_authority.read_text() != authority
    assert proxy.daemon().process() != first
    assert proxy.daemon().ready()


def test_its_upstream_is_gitea_and_its_command_has_no_secret(proxy):
    command = proxy._command(Path("/tools/github-proxy"))

    assert command[0] == "/tools/github-proxy"
    assert f"--upstream={proxy.upstream}" in command
    assert f"--http=127.0.0.1:{proxy.http_port}" in command
    assert f"--https=127.0.0.1:{proxy.https_port}" in command
