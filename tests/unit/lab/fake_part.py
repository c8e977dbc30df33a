"""Stands in for every component of a cluster: serves TLS on the same port, and reports itself as healthy."""

import json
import socket
import ssl
import sys
from contextlib import suppress
from urllib.parse import urlsplit

UNLIMITED = {"type": "LimitsEnforced", "status": "False", "message": "read-only file system"}
READY = {"status": {"conditions": [{"type": "Ready", "status": "True"}, UNLIMITED]}}


def serve(listener: socket.socket, context: ssl.SSLContext) -> None:
    """Answer each GET. Python's own server takes longer to import than all the rest of this program."""
    while True:
        plain, _ = listener.accept()
        with suppress(OSError), plain, context.wrap_socket(plain, server_side=True) as connection:
            request = connection.recv(65536)
            status = "200 OK" if request.startswith(b"GET ") else "501 Not Implemented"
            body = json.dumps(READY if b"/nodes/" in request.partition(b"\r\n")[0] else {})
            connection.sendall(f"HTTP/1.1 {status}\r\nConnection: close\r\n\r\n{body}".encode())


def listeners(flags: dict[str, str]) -> list[int]:
    if "listen-peer-urls" in flags:
        return [urlsplit(flags[name]).port or 0 for name in ("listen-client-urls", "listen-peer-urls")]
    if "kubelet-address" in flags:
        return [int(flags["kubelet-address"].rpartition(":")[2])]
    return [int(flags["secure-port"])]


def first(flags: dict[str, str], *names: str) -> str | None:
    return next((flags[name] for name in names if name in flags), None)


def main(_: str, *arguments: str) -> None:
    flags = dict(argument.removeprefix("--").split("=", 1) for argument in arguments)
    certificate = first(flags, "cert-file", "tls-cert-file", "tls-cert")
    assert certificate is not None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, first(flags, "key-file", "tls-private-key-file", "tls-key"))
    if authority := first(flags, "trusted-ca-file", "client-ca"):
        context.load_verify_locations(authority)
        context.verify_mode = ssl.CERT_REQUIRED
    sockets = [socket.create_server(("127.0.0.1", port)) for port in listeners(flags)]
    serve(sockets[0], context)


if __name__ == "__main__":
    main(*sys.argv[1:])
