"""Types of the configuration of sources."""

from __future__ import annotations

from typing import Annotated

from pydantic import SecretStr

from components.config.messages import Message, Wording
from components.config.types import checked_by, matching, secret, unusable_url, url_parts
from components.sources.client_keys import read_client_key

URL_WITHOUT_HOST_OR_IN_CAPITALS = Wording(
    "FT-SRC-002", "has no host, or one with capital letters", "write it like {example}"
)

HTTPS = "https://"


def _chart_url(value: str) -> str:
    example = "https://charts.example.com or oci://registry.example.com/charts"
    url = url_parts(value, ("http", "https", "oci"), example)
    if not url.hostname or url.hostname not in url.netloc:
        raise unusable_url(value, URL_WITHOUT_HOST_OR_IN_CAPITALS(example=example))
    return value


def _artifact_url(value: str) -> str:
    example = "oci://registry.example.com/org/manifests"
    url = url_parts(value, ("oci",), example)
    if not url.hostname or url.hostname not in url.netloc:
        raise unusable_url(value, URL_WITHOUT_HOST_OR_IN_CAPITALS(example=example))
    if not url.path.strip("/") or url.query or url.fragment or set(url.path) & set("@:"):
        raise unusable_url(
            value,
            Message(
                "FT-SRC-003",
                "is not the URL of an OCI repository",
                f"write it like {example}; tag and digest belong in ref",
            ),
        )
    return value


def _endpoint(value: str) -> str:
    """`host[:port]`, or the same with https:// for Azure."""
    example = "s3.example.com, minio.example.com:9000 or, for azure, https://account.blob.core.windows.net"
    url = url_parts(HTTPS + value.removeprefix(HTTPS), ("https",), example)
    if not url.hostname or url.hostname not in url.netloc or url.path.strip("/") or url.query or url.fragment:
        raise unusable_url(
            value,
            Message("FT-SRC-005", "is not the endpoint of an object store", f"write it like {example}, without a path"),
        )
    return value.removesuffix("/")


ChartUrl = Annotated[str, *checked_by(_chart_url, "http, https or oci URL of a chart repository, without credentials")]
ArtifactUrl = Annotated[str, *checked_by(_artifact_url, "oci URL without tag and digest")]
Endpoint = Annotated[str, *checked_by(_endpoint, "host and port of an object store")]
BucketName = Annotated[
    str,
    *matching(
        r"^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$",
        Message("FT-SRC-004", "is not the name of a bucket", "use 3 to 63 lowercase letters, digits, '-', '.' and '_'"),
    ),
]
OciDigest = Annotated[
    str,
    *matching(
        r"^sha256:[0-9a-f]{64}$",
        Message("FT-SRC-006", "is not a digest", "write it like sha256: and 64 hexadecimal digits"),
    ),
]
# Source: https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pulling-manifests
OciTag = Annotated[
    str,
    *matching(
        r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$",
        Message("FT-SRC-007", "is not a tag", "use at most 128 letters, digits, '_', '.' and '-', e.g. 6.5.1"),
    ),
]
ClientKey = Annotated[SecretStr, *secret(read_client_key, "secret private key, PEM")]
