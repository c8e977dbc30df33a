"""Stands in for every component of a cluster: serves TLS on the same port, and reports itself as healthy.

Beside the cluster's certificates it notes each start in ``starts``, and it fails if there is ``fail-<part>``.
"""

import json
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

READY = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}


class AllIsWell(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(READY if "/nodes/" in self.path else {}).encode())

    def log_message(self, *_: object) -> None:
        pass


def listeners(flags: dict[str, str]) -> list[int]:
    if "listen-peer-urls" in flags:
        return [urlsplit(flags[name]).port or 0 for name in ("listen-client-urls", "listen-peer-urls")]
    if "kubelet-address" in flags:
        return [int(flags["kubelet-address"].rpartition(":")[2])]
    return [int(flags["secure-port"])]


def first(flags: dict[str, str], *names: str) -> str | None:
    return next((flags[name] for name in names if name in flags), None)


def main(part: str, *arguments: str) -> None:
    flags = dict(argument.removeprefix("--").split("=", 1) for argument in arguments)
    certificate = first(flags, "cert-file", "tls-cert-file", "tls-cert")
    assert certificate is not None
    pki = Path(certificate).parent
    with (pki / "starts").open("a") as starts:
        starts.write(f"{part}\n")
    if (pki / f"fail-{part}").exists():
        sys.exit(f"{part}: unknown flag: --example")

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, first(flags, "key-file", "tls-private-key-file", "tls-key"))
    if authority := first(flags, "trusted-ca-file", "client-ca"):
        context.load_verify_locations(authority)
        context.verify_mode = ssl.CERT_REQUIRED
    servers = [ThreadingHTTPServer(("127.0.0.1", port), AllIsWell) for port in listeners(flags)]
    for server in servers:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    servers[0].serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
