"""Helm's records of a release that a killed update has left unfinished.

Helm takes such a record for an operation in progress and refuses every other one, forever. No other operation can be in
progress: Pulumi's state is locked.

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
from components.engine import log
from components.engine.state import State
from components.kyverno.config import KyvernoConfig
from components.kyverno.objects import NAMESPACE
from components.kyverno.wordings import HALF_INSTALLED, RELEASE_REINSTALLED, RELEASE_UPGRADED

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
        records: the names of the records in the way; the last is the newest.
        status: status of the release in the newest record.
        recorded: whether the release is in the state; if so Pulumi upgrades it, otherwise Pulumi installs it.
        description: description of the release from now on, or None. A new one makes Pulumi upgrade the release even if
            nothing else of it has changed.
    """

    records: tuple[str, ...] = ()
    status: str = ""
    recorded: bool = False
    description: str | None = None


def read_unfinished(api: client.ApiClient, recorded: State) -> UnfinishedRelease:
    """Read the records that would make Pulumi's next operation fail.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    known = recorded.outputs(RELEASE_TYPE)
    selector = f"owner=helm,name={RELEASE}"
    if known:
        selector += f",status in ({','.join(UNFINISHED)})"
    with explaining(api):
        return unfinished(items(api, _SECRETS, labelSelector=selector), known[0] if known else None)


def unread_release(recorded: State) -> UnfinishedRelease:
    """What is assumed of the records where a preview may not read them: that no update was killed."""
    return unfinished([], next(iter(recorded.outputs(RELEASE_TYPE)), None))


def unfinished(secrets: Sequence[Manifest], known: Mapping[str, Any] | None) -> UnfinishedRelease:
    """What the records say.

    Args:
        secrets: the records, as Secrets.
        known: the release's outputs in the state, or None if it is not in the state.
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
    """A half-installed Kyverno that the stack no longer has: nobody would remove it."""
    if config is not None or found.recorded or not found.records:
        return []
    return [Problem(stack_file, "kyverno", HALF_INSTALLED())]


def settle_release(api: client.ApiClient, found: UnfinishedRelease) -> None:
    """Clear the records out of Helm's way and log it; a preview only logs.

    If the release is in the state, they become records of failed operations, from which an upgrade continues. If it is
    not, they are deleted: an installation takes over every object that carries the release's name.

    Raises:
        pulumi.RunError: the cluster refuses or does not answer.
    """
    if not found.records:
        return
    log.info((RELEASE_UPGRADED if found.recorded else RELEASE_REINSTALLED)(status=found.status))
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
        raise log.run_error(error) from None


def failed(secret: Manifest) -> Manifest:
    """The patch that turns a record into one of a failed operation."""
    record = json.loads(gzip.decompress(b64decode(b64decode(secret["data"]["release"]))))
    record["info"]["status"] = _FAILED
    content = b64encode(b64encode(gzip.compress(json.dumps(record).encode()))).decode()
    return {"metadata": {"labels": {"status": _FAILED}}, "data": {"release": content}}
