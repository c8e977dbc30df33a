"""Git sources with credentials of their own, made for this run, and stacks that read with them."""

from __future__ import annotations

from functools import cache
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from sample_keys import OPENSSH, TRADITIONAL, block, certificate, private_text, public_line, rsa_key
from sample_stack import CLUSTER, FLUX

from flux_tenancy.components.git.config import GitSource
from flux_tenancy.components.stack.config import StackConfig

SSH_URL = "ssh://git@github.com/acme/apps"
HTTPS_URL = "https://git.example.com/dev-team/apps"
REPOSITORY = "acme/apps"


@cache
def private_key(which: str) -> str:
    """A private SSH key; the same for the same word."""
    return private_text(ed25519.Ed25519PrivateKey.generate(), OPENSSH)


def public_key(private: str) -> str:
    """The public half of a private SSH key, as one line without comment."""
    return public_line(serialization.load_ssh_private_key(private.encode(), password=None))


def app_key() -> str:
    """The private key of a GitHub App."""
    return private_text(rsa_key(2048), TRADITIONAL)


@cache
def authority() -> str:
    """The certificate of an authority."""
    return certificate()


@cache
def signing_key(which: str) -> str:
    """An OpenPGP public key; the same for the same word. Source: RFC 9580, sections 4.2 and 5.5."""
    point = ed25519.Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    curve = bytes.fromhex("092b06010401da470f01")
    body = b"\x04" + b"\0\0\0\1" + b"\x16" + curve + (263).to_bytes(2) + b"\x40" + point
    return block("PGP PUBLIC KEY BLOCK", bytes([0xC6, len(body)]) + body).replace("BLOCK-----\n", "BLOCK-----\n\n", 1)


def with_deploy_key(which: str = "first", **keys: Any) -> dict[str, Any]:
    """What the configuration says of a repository at GitHub whose deploy key is registered there."""
    return {"url": SSH_URL, "deployKey": private_key(which), "github": {"repository": REPOSITORY}} | keys


def stack(
    tenants: dict[str, dict[str, Any]] | None = None, *, platform: dict[str, Any] | None = None, **sections: Any
) -> StackConfig:
    """A stack with these sources, by tenant; each tenant's namespace is called after it, and is hardly waited for.

    Args:
        tenants: `source` of each tenant.
        platform: `source` of the platform's own sync; none without one.
        sections: other sections of the stack.
    """
    flux: dict[str, Any] = FLUX | {"webhookUrl": "https://flux.example.com/"}
    if platform is not None:
        flux["sync"] = {"source": platform}
    described = {
        name: {"namespaces": [{"name": f"{name}-apps"}], "source": {"url": HTTPS_URL} | source}
        for name, source in (tenants or {}).items()
    }
    github = {"owners": {"acme": {"token": "gh-t0ken"}}}
    return StackConfig.model_validate(
        {
            "cluster": CLUSTER,
            "flux": flux,
            "github": github,
            "tenants": described,
            "tenancy": {"settleTimeout": "1ms"},
        }
        | sections
    )


def own_source(config: StackConfig, tenant: str = "dev-team") -> GitSource:
    """The repository of a tenant that has one."""
    source = config.tenants[tenant].source
    assert source is not None
    return source
