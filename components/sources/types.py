"""Types of the configuration of sources."""

from __future__ import annotations

from typing import Annotated

from pydantic import SecretStr

from components.config.types import checked_by, matching, secret, unusable_url, url_parts
from components.sources.client_keys import read_client_key
from components.sources.config_wordings import (
    NOT_A_BUCKET_NAME,
    NOT_AN_ARTIFACT_URL,
    NOT_AN_ENDPOINT,
    NOT_AN_OCI_DIGEST,
    NOT_AN_OCI_TAG,
    URL_WITHOUT_HOST_OR_IN_CAPITALS,
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
        raise unusable_url(value, NOT_AN_ARTIFACT_URL(example=example))
    return value


def _endpoint(value: str) -> str:
    """`host[:port]`, or the same with https:// for Azure."""
    example = "s3.example.com, minio.example.com:9000 or, for azure, https://account.blob.core.windows.net"
    url = url_parts(HTTPS + value.removeprefix(HTTPS), ("https",), example)
    if not url.hostname or url.hostname not in url.netloc or url.path.strip("/") or url.query or url.fragment:
        raise unusable_url(value, NOT_AN_ENDPOINT(example=example))
    return value.removesuffix("/")


ChartUrl = Annotated[str, *checked_by(_chart_url, "http, https or oci URL of a chart repository, without credentials")]
ArtifactUrl = Annotated[str, *checked_by(_artifact_url, "oci URL without tag and digest")]
Endpoint = Annotated[str, *checked_by(_endpoint, "host and port of an object store")]
BucketName = Annotated[str, *matching(r"^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$", NOT_A_BUCKET_NAME)]
OciDigest = Annotated[str, *matching(r"^sha256:[0-9a-f]{64}$", NOT_AN_OCI_DIGEST)]
# Source: https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pulling-manifests
OciTag = Annotated[str, *matching(r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$", NOT_AN_OCI_TAG)]
ClientKey = Annotated[SecretStr, *secret(read_client_key, "secret private key, PEM")]
