"""The host keys that a stack declares, compared with those of a real SSH server on loopback."""

import socket
import subprocess
import threading
from contextlib import contextmanager
from io import StringIO

import paramiko
import pytest
import sample_keys as keys
from cryptography.hazmat.primitives.asymmetric import ec
from loopback import closed_port

from flux_tenancy.components.git import host_keys
from flux_tenancy.components.git.config import GitSource
from flux_tenancy.components.git.host_keys import host_key_warnings
from flux_tenancy.components.git.sources import Sources
from flux_tenancy.components.keys.ssh_keys import fingerprint, generate
from tests.support.messages import said

ED25519 = keys.ed25519_key()
ECDSA = keys.ec_key(ec.SECP256R1)
ANOTHER = keys.ed25519_key.__wrapped__()
OWN, OTHER, OF_ECDSA = keys.public_line(ED25519), keys.public_line(ANOTHER), keys.public_line(ECDSA)


@contextmanager
def listening(handle):
    """A server on loopback, whose connections are passed to `handle`; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=handle, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


@contextmanager
def ssh_server(*private):
    def handle(connection):
        transport = paramiko.Transport(connection)
        for key in private:
            kind = paramiko.Ed25519Key if key is ED25519 else paramiko.ECDSAKey
            transport.add_server_key(kind.from_private_key(StringIO(keys.private_text(key, keys.OPENSSH))))
        try:
            transport.start_server(server=paramiko.ServerInterface())
        except (paramiko.SSHException, EOFError):
            transport.close()  # It has no key of the type that was asked for.

    with listening(handle) as port:
        yield port


def warnings(port, *declared, tenants=("shop",)):
    url = f"ssh://git@127.0.0.1:{port}/team/apps"
    source = GitSource.model_validate({"url": url, "deployKey": generate().private})
    known = [f"[127.0.0.1]:{port} {key}" for key in declared]
    return host_key_warnings(Sources(dict.fromkeys(tenants, source), known_hosts=known))


@pytest.mark.parametrize("declared", [[OWN], [OF_ECDSA, OWN], [OWN, OTHER]])
def test_a_host_with_the_declared_keys_has_no_warning(declared):
    with ssh_server(ED25519, ECDSA) as port:
        assert warnings(port, *declared) == []


@pytest.mark.parametrize("declared", [[OTHER], [OTHER, OWN], [OTHER, OF_ECDSA]])
def test_a_wrong_host_key_has_one_warning_for_all_sources_of_its_host(declared):
    with ssh_server(ED25519, ECDSA) as port:
        found = warnings(port, *declared, tenants=("shop", "blog"))

    assert found == [
        said(
            "FT-GIT-130",
            address=f"[127.0.0.1]:{port}",
            type="ssh-ed25519",
            found=fingerprint(OWN),
            declared=fingerprint(OTHER),
            count=2,
        )
    ]


def test_a_host_that_has_keys_of_other_types_alone_has_a_warning():
    with ssh_server(ECDSA) as port:
        found = warnings(port, OWN)

    shown = f"ecdsa-sha2-nistp256 {fingerprint(OF_ECDSA)}"
    assert found == [said("FT-GIT-131", address=f"[127.0.0.1]:{port}", declared="ssh-ed25519", found=shown, count=1)]


def test_a_host_that_cannot_be_asked_has_no_warning(monkeypatch):
    """It refuses, does not answer, is no SSH server, or there is no ssh-keyscan."""
    assert warnings(closed_port(), OTHER) == []
    monkeypatch.setattr(host_keys, "_SECONDS", 0.3)
    with listening(lambda connection: connection.recv(1000)) as silent:
        assert warnings(silent, OTHER) == []
    with listening(lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as web:
        assert warnings(web, OTHER) == []
    monkeypatch.setenv("PATH", "/nonexistent")
    with ssh_server(ED25519) as port:
        assert warnings(port, OTHER) == []


def test_sources_over_https_are_not_asked(monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("asked"))
    source = GitSource.model_validate({"url": "https://git.example.com/team/apps"})

    assert host_key_warnings(Sources({"shop": source})) == []
