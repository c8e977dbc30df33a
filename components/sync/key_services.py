"""Hosts of key management services, as far as they follow from the configuration of a decryption."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from components.sync.decryption import WorkloadIdentity

# Sources: https://docs.aws.amazon.com/general/latest/gr/kms.html, …/sts.html
_AWS_DOMAINS = {"aws": "amazonaws.com", "aws-us-gov": "amazonaws.com", "aws-cn": "amazonaws.com.cn"}
_AWS_KEY = re.compile(r"arn:([\w-]+):kms:([\w-]+):")
# Hosts that issue the identity, in addition to those of the keys.
_IDENTITY = {
    "gcp": ("sts.googleapis.com", "iamcredentials.googleapis.com"),
    "azure": ("login.microsoftonline.com",),
}
# Hosts of keys if the configuration names none.
_ANY_KEY = {"gcp": ("cloudkms.googleapis.com",), "azure": (".vault.azure.net",)}


def key_service_hosts(identity: WorkloadIdentity) -> tuple[str, ...]:
    """The hosts that kustomize-controller connects to for an identity; empty if none follows from it.

    Vault servers are listed in `flux.vaults`; AWS hosts contain the region of the keys.
    """
    if identity.provider == "aws":
        found = [match for key in identity.keys if (match := _AWS_KEY.match(key))]
        return tuple(
            dict.fromkeys(
                f"{service}.{match[2]}.{_AWS_DOMAINS[match[1]]}"
                for match in found
                if match[1] in _AWS_DOMAINS
                for service in ("kms", "sts")
            )
        )
    hosts = [urlsplit(key).hostname for key in identity.keys] if identity.provider == "azure" else []
    keys = tuple(host for host in hosts if host) or _ANY_KEY.get(identity.provider, ())
    return (*_IDENTITY.get(identity.provider, ()), *keys)
