"""Where sources are fetched from, as allow-lists name it."""

from __future__ import annotations

from components.git.config import GitSource
from components.sources.config import BucketSource, ExternalArtifactSource, HelmRepositorySource, OCIRepositorySource
from components.sources.types import HTTPS

GOOGLE_STORAGE = "storage.googleapis.com"
"""The endpoint of every Bucket of the provider gcp, whose client ignores `spec.endpoint`."""

FetchedSource = GitSource | OCIRepositorySource | HelmRepositorySource | BucketSource
"""A source that source-controller fetches."""
AnySource = FetchedSource | ExternalArtifactSource


def fetched_url(source: FetchedSource) -> str:
    """The URL of a source as `policies.sources.allowed` has it.

    components/policies/sources.py computes the same of objects, in CEL.
    """
    if not isinstance(source, BucketSource):
        return source.url
    host = GOOGLE_STORAGE if source.provider == "gcp" else source.endpoint.removeprefix(HTTPS)
    return f"bucket://{host}/{source.bucket_name}"


def is_encrypted(source: FetchedSource) -> bool:
    """Whether a source is fetched over TLS or SSH."""
    if isinstance(source, GitSource | HelmRepositorySource) and source.url.startswith("http://"):
        return False
    return isinstance(source, GitSource) or not source.insecure
