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
from typing import TYPE_CHECKING, Any

import pulumi

from flux_tenancy.components.cluster.client import ClusterUnavailable, ask, explaining, get, items
from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.engine import log
from flux_tenancy.components.installs.chart import RELEASE_TYPE

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.engine.state import State
    from flux_tenancy.components.installs.product import Product
    from flux_tenancy.components.vocabulary.manifests import Manifest

UNFINISHED = ("pending-install", "pending-upgrade", "pending-rollback", "uninstalling")
"""States of a record for as long as Helm works. Source: pkg/release/status.go of Helm 3.18."""

_FAILED = "failed"


@dataclass(frozen=True)
class LeftoverRelease:
    """What is wrong with Helm's records of a product's release, if anything.

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


def read_leftover_release(api: client.ApiClient, product: Product, recorded: State) -> LeftoverRelease:
    """Read the records that would make Pulumi's next operation fail.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    known = _recorded(product, recorded)
    selector = f"owner=helm,name={product.name}"
    if known is not None:
        selector += f",status in ({','.join(UNFINISHED)})"
    with explaining(api):
        return leftover_release(items(api, _records(product), labelSelector=selector), known)


def assumed_release(product: Product, recorded: State) -> LeftoverRelease:
    """What is assumed of the records where a preview may not read them: that no update was killed."""
    return leftover_release([], _recorded(product, recorded))


def _recorded(product: Product, recorded: State) -> Mapping[str, Any] | None:
    """The release's outputs in the state, or None if it is not in the state."""
    return recorded.resources.get((RELEASE_TYPE, product.name))


def _records(product: Product) -> str:
    """The path of the Secrets that Helm keeps its records in."""
    return f"/api/v1/namespaces/{product.namespace}/secrets"


def leftover_release(secrets: Sequence[Manifest], known: Mapping[str, Any] | None) -> LeftoverRelease:
    """What the records say.

    Args:
        secrets: the records, as Secrets.
        known: the release's outputs in the state, or None if it is not in the state.
    """
    if not secrets:
        return LeftoverRelease(recorded=known is not None, description=(known or {}).get("description") or None)
    ordered = sorted((each["metadata"] for each in secrets), key=lambda metadata: int(metadata["labels"]["version"]))
    newest = ordered[-1]["labels"]
    return LeftoverRelease(
        tuple(metadata["name"] for metadata in ordered),
        newest["status"],
        known is not None,
        f"Finished after revision {newest['version']} was interrupted" if known is not None else None,
    )


def half_installed(product: Product, found: LeftoverRelease, stack_file: str) -> list[Problem]:
    """A half-installed product that the stack no longer has: nobody would remove it."""
    if found.recorded or not found.records:
        return []
    message = Message(
        f"FT-{product.area}-004",
        f"is not set, but an interrupted update has left {product.title} half installed",
        f"run `pulumi up` once with {product.name} to finish the installation, then remove it from the stack",
    )
    return [Problem(stack_file, product.name, message)]


def clear_release(api: client.ApiClient, product: Product, found: LeftoverRelease) -> None:
    """Clear the records out of Helm's way and log it; a preview only logs.

    If the release is in the state, they become records of failed operations, from which an upgrade continues. If it is
    not, they are deleted: an installation takes over every object that carries the release's name.

    Raises:
        pulumi.RunError: the cluster refuses or does not answer.
    """
    from kubernetes.dynamic.exceptions import NotFoundError

    if not found.records:
        return
    log.info(
        Message(
            f"FT-{product.area}-005",
            f"an interrupted update has left {product.title}'s Helm release {found.status}; the update finishes it",
        )
        if found.recorded
        else Message(
            f"FT-{product.area}-006",
            f"an interrupted update has left {product.title}'s Helm release {found.status}; the update installs it "
            "again over what is there",
        )
    )
    if pulumi.runtime.is_dry_run():
        return
    try:
        with explaining(api):
            for name in found.records:
                path = f"{_records(product)}/{name}"
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
