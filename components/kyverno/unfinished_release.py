"""Helm's records of a release that an update has begun and not ended, because it was killed.

Helm takes such a record for an operation that still runs and refuses each other one, for ever. No other runs: the lock
of Pulumi's state sees to that.

Source: https://helm.sh/docs/topics/advanced/#storage-backends and pkg/storage/driver/secrets.go of Helm 3.18
"""

from __future__ import annotations

import gzip
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pulumi
from kubernetes import client
from kubernetes.dynamic.exceptions import NotFoundError

from components.cluster.client import ClusterUnavailable, ask, explaining, get, items
from components.cluster.manifests import Manifest
from components.config.errors import Problem
from components.engine.state import State
from components.kyverno.config import KyvernoConfig
from components.kyverno.objects import NAMESPACE

RELEASE_TYPE = "kubernetes:helm.sh/v3:Release"
RELEASE = "kyverno"
UNFINISHED = ("pending-install", "pending-upgrade", "pending-rollback", "uninstalling")
"""States of a record for as long as Helm works. Source: pkg/release/status.go of Helm 3.18."""

_FAILED = "failed"
_SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"


@dataclass(frozen=True)
class UnfinishedRelease:
    """What is wrong with Helm's records of Kyverno's release, if anything.

    Attributes:
        records: the names of the records in question; the last is the newest.
        status: what the newest says of the release.
        recorded: whether the state has the release; without it Pulumi installs it, with it Pulumi upgrades it.
        description: of the release from now on, or None. Another one has Pulumi upgrade the release, whether anything
            else of it has changed or not.
    """

    records: tuple[str, ...] = ()
    status: str = ""
    recorded: bool = False
    description: str | None = None


def read_unfinished(api: client.ApiClient, recorded: State) -> UnfinishedRelease:
    """Ask the cluster for the records that are in the way of what Pulumi does next.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    known = recorded.outputs(RELEASE_TYPE)
    selector = f"owner=helm,name={RELEASE}"
    if known:
        selector += f",status in ({','.join(UNFINISHED)})"
    with explaining(api):
        return unfinished(items(api, _SECRETS, labelSelector=selector), known[0] if known else None)


def unfinished(secrets: Sequence[Manifest], known: Mapping[str, Any] | None) -> UnfinishedRelease:
    """What is to be done about the records.

    Args:
        secrets: the records in question.
        known: what the state has of the release, or None where it does not have it.
    """
    if not secrets:
        return UnfinishedRelease(recorded=known is not None, description=(known or {}).get("description") or None)
    ordered = sorted((each["metadata"] for each in secrets), key=lambda metadata: int(metadata["labels"]["version"]))
    newest = ordered[-1]["labels"]
    return UnfinishedRelease(
        tuple(metadata["name"] for metadata in ordered),
        newest["status"],
        known is not None,
        f"Finished after revision {newest['version']} was interrupted" if known is not None else None,
    )


def left_without_kyverno(config: KyvernoConfig | None, found: UnfinishedRelease, stack_file: str) -> list[Problem]:
    """A Kyverno that was left half installed and that the stack does not list any more: nobody would remove it."""
    if config is not None or found.recorded or not found.records:
        return []
    return [
        Problem(
            stack_file,
            "kyverno",
            "is left out, but an interrupted update has left Kyverno half installed; run `pulumi up` once with it, "
            "which finishes the installation, and then leave it out",
        )
    ]


def settle_release(api: client.ApiClient, found: UnfinishedRelease) -> None:
    """Take the records out of Helm's way, and say so; a preview only says so.

    Where the state has the release, they become records of failed operations, which the upgrade goes on from. Where it
    does not, they are removed: installing takes over every object that carries the release's name.

    Raises:
        pulumi.RunError: the cluster does not do it.
    """
    if not found.records:
        return
    done = "the update finishes it" if found.recorded else "the update installs it again over what is there"
    pulumi.log.info(f"an interrupted update has left Kyverno's release {found.status}; {done}")
    if pulumi.runtime.is_dry_run():
        return
    try:
        with explaining(api):
            for name in found.records:
                path = f"{_SECRETS}/{name}"
                with suppress(NotFoundError):
                    if found.recorded:
                        ask(api, "PATCH", path, failed(get(api, path)))
                    else:
                        ask(api, "DELETE", path)
    except ClusterUnavailable as error:
        raise pulumi.RunError(str(error)) from None


def failed(secret: Manifest) -> Manifest:
    """The change that makes a record one of a failed operation."""
    record = json.loads(gzip.decompress(b64decode(b64decode(secret["data"]["release"]))))
    record["info"]["status"] = _FAILED
    content = b64encode(b64encode(gzip.compress(json.dumps(record).encode()))).decode()
    return {"metadata": {"labels": {"status": _FAILED}}, "data": {"release": content}}
