"""A tenant's objects as YAML, as `kubectl apply` restores them, without what the platform or an owner creates again.

Data in volumes is not in it. Secrets are left out, or encrypted for a recipient of age before they are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pyrage
import yaml
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from flux_tenancy.components.cluster.client import (
    METADATA_LIST,
    NamespacedKind,
    explaining,
    items,
    read_namespaced_kinds,
)
from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.config.yaml_files import Dumper
from flux_tenancy.components.tenant.leaving.remaining_objects import goes_by_itself, read_namespaces
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.operations.admission.dry_run import as_created
from flux_tenancy.project.errors import OperationError

_SECRETS = "/api/v1", "secrets"
# This user may not list a kind, it cannot be listed, or the server of its API is away. Anything else may pass, and the
# backup would lack objects that the cluster has.
_NOT_LISTED = (HTTPStatus.FORBIDDEN, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.SERVICE_UNAVAILABLE)
# They bind a claim to a volume that is deleted with it.
_BINDING_PREFIXES = ("pv.kubernetes.io/", "volume.kubernetes.io/selected-node")
# `kubectl apply` sets it again.
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True)
class Contents:
    """What a tenant has in a cluster.

    Attributes:
        objects: the objects by namespace and kind; Secrets without their data, unless they are asked for.
        unread: kinds that this user may not list, or that the cluster cannot list.
    """

    namespaces: tuple[str, ...]
    objects: Mapping[tuple[str, NamespacedKind], Sequence[Manifest]] = field(default_factory=dict)
    unread: tuple[str, ...] = ()

    def summary(self, namespace: str) -> str:
        """The number of objects of each kind in a namespace."""
        found = sorted((kind.kind, len(found)) for (place, kind), found in self.objects.items() if place == namespace)
        return ", ".join(f"{count} {printable(kind)}" for kind, count in found) or "nothing"


def read_contents(api: client.ApiClient, tenant: str, with_secrets: bool) -> Contents:
    """Read what a tenant has in the namespaces that go with it.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    objects: dict[tuple[str, NamespacedKind], Sequence[Manifest]] = {}
    unread = []
    namespaces = read_namespaces(api, tenant)
    kinds = read_namespaced_kinds(api) if namespaces else []
    with explaining(api):
        for kind in kinds:
            only_metadata = (kind.root, kind.resource) == _SECRETS and not with_secrets
            accept = METADATA_LIST if only_metadata else "application/json"
            for namespace in namespaces:
                try:
                    found = items(api, kind.path(namespace), accept=accept)
                except ApiException as error:
                    if error.status not in _NOT_LISTED:
                        raise
                    unread.append(f"{kind.kind} in {namespace}")
                    continue
                if own := [each for each in found if not goes_by_itself(kind.kind, each["metadata"], pruned=False)]:
                    objects[namespace, kind] = own
    return Contents(tuple(namespaces), objects, tuple(unread))


def read_recipient(text: str) -> pyrage.x25519.Recipient:
    """A recipient of age.

    Raises:
        OperationError: it is none that can be encrypted for.
    """
    try:
        return pyrage.x25519.Recipient.from_str(text)
    except pyrage.RecipientError as error:
        raise OperationError(
            Message("FT-OPS-311", f"--age: {printable(str(error))}", "name an X25519 recipient, which begins with age1")
        ) from None


def backup_files(contents: Contents, recipient: pyrage.x25519.Recipient | None) -> dict[str, bytes]:
    """The content of each file by its path: one for each namespace and kind, since tenants choose names of objects.

    Args:
        recipient: who can decrypt the Secrets; None leaves them out.
    """
    files = {}
    for (namespace, kind), found in contents.objects.items():
        version = kind.root.removeprefix("/apis/").removeprefix("/api/")
        group, _, _ = version.rpartition("/")
        name = f"{namespace}/{kind.resource}{'.' if group else ''}{group}.yaml"
        is_secret = (kind.root, kind.resource) == _SECRETS
        if is_secret and recipient is None:
            continue
        documents = [{**_restorable(each, kind.kind), "apiVersion": version} for each in found]
        text = yaml.dump_all(
            documents, Dumper=Dumper, sort_keys=False, explicit_start=True, allow_unicode=True
        ).encode()
        if is_secret:
            files[f"{name}.age"] = pyrage.encrypt(text, [recipient], armored=True)
        else:
            files[name] = text
    return files


def write_backup(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a backup, readable for this user only.

    Raises:
        OSError: a file cannot be written.
    """
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        path.write_bytes(content)


def _restorable(found: Manifest, kind: str) -> dict[str, Any]:
    manifest = as_created({**found, "kind": kind})
    metadata = {"name": found["metadata"]["name"], **manifest.pop("metadata")}
    annotations: Mapping[str, str] = metadata.get("annotations") or {}
    if kind == "PersistentVolumeClaim":
        manifest.get("spec", {}).pop("volumeName", None)
        annotations = {key: value for key, value in annotations.items() if not key.startswith(_BINDING_PREFIXES)}
    metadata["annotations"] = {key: value for key, value in annotations.items() if key != _LAST_APPLIED}
    if not metadata["annotations"]:
        del metadata["annotations"]
    return {"apiVersion": "", "kind": kind, "metadata": metadata, **manifest}
