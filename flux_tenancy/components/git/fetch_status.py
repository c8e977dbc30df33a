"""Proof that a source has been fetched with the credentials that it now refers to.

Ready proves neither: it is true while a source is suspended, and false where the fetched commit is not signed. The
conditions below are set only after a checkout, each with the generation of the object that it is about, and a change of
the `secretRef` is a new generation.

Source: reconcileSource, reconcileArtifact and verifySignature in internal/controller of source-controller 1.9
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.config.messages import printable

if TYPE_CHECKING:
    from flux_tenancy.components.git.config import GitHubConfig, GitSource

# Set at the end of each fetch, the ones that found nothing new included.
_STORED = "ArtifactInStorage"
# Set in either state once there is a commit to verify.
_VERIFIED = "SourceVerified"
_FAILED = "FetchFailed"
_LOGIN_REFUSED = re.compile("ssh: unable to authenticate")
# A host that knows the key answers with a sentence, which go-git takes for a packet of Git's protocol.
_NO_REPOSITORY = re.compile("invalid pkt-len found|repository not found", re.IGNORECASE)
_MISSING: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile("couldn't find remote ref|no match found for semver"),
        "the repository has no such branch or tag: correct it in the source, or push it",
    ),
    (re.compile("remote repository is empty"), "the repository has no commit yet: push one"),
    (
        re.compile("kustomization path not found"),
        "the repository has no such folder: correct `path` of the sync, or push the folder",
    ),
    (
        _NO_REPOSITORY,
        "the Git host knows the key: check that the repository exists, and that this key is registered there",
    ),
)
"""What the repository lacks, by Flux's message, and what to do.

Source: gogit/clone.go in github.com/fluxcd/pkg/git 0.52, and kustomize-controller 1.9
"""


def lacking_proof(source: Mapping[str, Any] | None, secret: Mapping[str, Any] | None, public_key: str) -> str | None:
    """Why it is not proven that a source has been fetched with a deploy key; None where it is.

    Args:
        source: the GitRepository as the cluster has it, or None.
        secret: the Secret that it refers to, or None.
        public_key: the public half of the key, as one line without a comment.
    """
    if source is not None and _public_key(secret) != public_key:
        return "the source does not refer to it yet"
    return not_fetched(source)


def not_fetched(source: Mapping[str, Any] | None) -> str | None:
    """Why it is not proven that a source of any kind has been fetched as it is now; None where it is.

    Args:
        source: the object as the cluster has it, or None.
    """
    if source is None:
        return "the source does not exist yet"
    current = {condition["type"]: condition for condition in _of_this_generation(source)}
    if _VERIFIED in current or current.get(_STORED, {}).get("status") == "True":
        return None
    if current.get(_FAILED, {}).get("status") == "True":
        return printable(current[_FAILED].get("message", ""))
    return "the source is suspended" if source.get("spec", {}).get("suspend") else "not fetched yet"


def missing_remedy(message: str) -> str:
    """What to do if Flux does not find a repository, branch or folder; empty for any other reason."""
    return next((remedy for pattern, remedy in _MISSING if pattern.search(message)), "")


def fetch_remedy(refusal: str, source: GitSource | None, github: GitHubConfig) -> str:
    """What to do if a Git host lets Flux not fetch a source; empty for any other reason.

    A host deletes the deploy keys of a repository with it, so only GitHub's API tells whether a key is gone alone.

    Args:
        source: the source, or None if it is not one of the stack's Git sources.
    """
    if missing := missing_remedy(refusal):
        return missing
    if not _LOGIN_REFUSED.search(refusal):
        return ""
    if source is not None and source.github is not None:
        # Importing GitHub's client takes a third of a second, which updates without such a source do not need.
        from flux_tenancy.components.git.github_access import refusal as refused_by_api

        refused = refused_by_api(github, source.github)
        if refused is not None and refused.code == "FT-GIT-005":
            return str(refused)
    return "the Git host does not know the key: create another one with `flux-tenancy key deploy`, or register this one"


def secret_name(source: Mapping[str, Any] | None) -> str | None:
    """The Secret that a source is fetched with, or None."""
    name: str | None = (source or {}).get("spec", {}).get("secretRef", {}).get("name")
    return name


def _of_this_generation(found: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    generation = found["metadata"].get("generation")
    for condition in found.get("status", {}).get("conditions", ()):
        if condition.get("observedGeneration") == generation:
            yield condition


def _public_key(secret: Mapping[str, Any] | None) -> str | None:
    encoded = ((secret or {}).get("data") or {}).get("identity.pub")
    return b64decode(encoded).decode(errors="replace").strip() if encoded is not None else None
