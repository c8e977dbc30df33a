"""Self-contained kubeconfig files, which can be copied."""

from __future__ import annotations

import base64
from pathlib import Path

import yaml

from dev.lab.certificates import Pair
from dev.lab.files import SECRET, write_file


def write_kubeconfig(path: Path, name: str, server: str, authority: Path, client: Pair) -> None:
    """Write a kubeconfig with one cluster, user and context, all named ``name``, that only its owner can read.

    Args:
        path: the file to write.
        name: name of the context.
        server: URL of the API server.
        authority: certificate of the authority that signed the API server's certificate.
        client: certificate and key of the user.

    Raises:
        LabError: the file cannot be written.
    """
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority-data": _inline(authority)}}],
        "users": [
            {
                "name": name,
                "user": {
                    "client-certificate-data": _inline(client.certificate),
                    "client-key-data": _inline(client.key),
                },
            }
        ],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    write_file(path, yaml.safe_dump(config, sort_keys=False), SECRET)


def use_own_context(path: Path, name: str) -> None:
    """Make ``name`` the current context of a kubeconfig again, after `kubectl config use-context` changed it.

    Raises:
        LabError: the file cannot be written.
    """
    config = yaml.safe_load(path.read_text()) or {}
    if config.get("current-context") != name:
        write_file(path, yaml.safe_dump(config | {"current-context": name}, sort_keys=False), SECRET)


def _inline(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
