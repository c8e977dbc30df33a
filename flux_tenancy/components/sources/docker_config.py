"""Logins of container registries, in the format of Docker's config.json.

Source: https://kubernetes.io/docs/concepts/configuration/secret/#docker-config-secrets
"""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from flux_tenancy.components.config.messages import Message

_DOCKER_HUB = "index.docker.io"


def registry_of(url: str) -> str:
    """The registry in the URL of an OCI repository, as its login is looked up, e.g. `registry.example.com:5000`.

    Source: Resolve in pkg/authn/kubernetes of github.com/google/go-containerregistry, which source-controller uses
    """
    registry = urlsplit(url).netloc
    return _DOCKER_HUB if registry == "docker.io" else registry


def docker_config(registry: str, username: str, password: str) -> str:
    """The login of one registry."""
    return json.dumps({"auths": {registry: {"username": username, "password": password}}})


def read_docker_config(text: str) -> str:
    """A config.json with at least one login.

    Raises:
        ValueError: the text is anything else; the message contains nothing of it.
    """
    if not registries(text):
        raise ValueError(
            Message(
                "FT-SRC-021",
                "is not the content of a Docker config.json with auths",
                "write it with `docker login`, or set username and password",
            )
        )
    return text


def registries(text: str) -> list[str]:
    """The registries that a config.json has logins for; none if it is not one."""
    try:
        auths = json.loads(text)["auths"]
        return [_host(name) for name, login in auths.items() if isinstance(login, dict) and login]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []


def _host(name: str) -> str:
    """The registry of an entry, which may have a scheme and a path, as `docker login` writes that of Docker Hub."""
    return urlsplit(name if "://" in name else f"https://{name}").netloc
