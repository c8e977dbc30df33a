"""Kubernetes manifests as plain data, and what identifies an object.

Of quantities, such as `500m` and `2Gi`, the client's own reader accepts `1K`, which an API server refuses, and takes
half a second to import. Source: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from decimal import Decimal
from typing import Any

Manifest = dict[str, Any]

RBAC = "rbac.authorization.k8s.io"
"""The API group of roles and bindings."""
RBAC_API = f"{RBAC}/v1"

Find = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
"""Returns the cluster's object of the same kind, namespace and name, or None."""

ResourceTable = Sequence[tuple[str, tuple[str, ...]]]
"""Pairs of an API group and names of its resources."""


def value_at(value: Any, path: Iterable[str]) -> Any:
    """The value at a path of keys; None where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def merge_patch(value: Any, patch: Any) -> Any:
    """A value after a JSON merge patch, in which null removes a key. Source: https://www.rfc-editor.org/rfc/rfc7396"""
    if not isinstance(patch, Mapping):
        return deepcopy(patch)
    changed = dict(value) if isinstance(value, Mapping) else {}
    for key, each in patch.items():
        if each is None:
            changed.pop(key, None)
        else:
            changed[key] = merge_patch(changed.get(key), each)
    return changed


MAKERS: Mapping[str, tuple[str, ...]] = {
    "Pod": ("DaemonSet", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"),
    "ReplicaSet": ("Deployment",),
    "Job": ("CronJob",),
}
"""The kinds that Kubernetes' controllers make objects of another kind from."""


def resource_type(manifest: Manifest) -> str:
    """The Pulumi type token of a manifest, e.g. `kubernetes:apps/v1:Deployment`.

    The provider decides by this token how long to wait for an object, so a Deployment is awaited until it is available
    and a CustomResourceDefinition until it is established.
    """
    api_version = manifest["apiVersion"]
    group_version = api_version if "/" in api_version else f"core/{api_version}"
    return f"kubernetes:{group_version}:{manifest['kind']}"


# Kinds of which an earlier release of their product had another API version.
_FORMER_VERSIONS = {
    "kubernetes:notification.toolkit.fluxcd.io/v1:Alert": "kubernetes:notification.toolkit.fluxcd.io/v1beta3:Alert",
    "kubernetes:notification.toolkit.fluxcd.io/v1:Provider": (
        "kubernetes:notification.toolkit.fluxcd.io/v1beta3:Provider"
    ),
}


def former_type(manifest: Manifest) -> str | None:
    """The Pulumi type token that the object had before its API version changed; None if it had no other.

    As an alias, it keeps the object in its place: otherwise the engine would create it once more under the same name,
    and then delete it.
    """
    return _FORMER_VERSIONS.get(resource_type(manifest))


def plural_of(kind: str) -> str:
    """The name of a kind's resource in the API, e.g. `networkpolicies`; all but one are regular."""
    lower = kind.lower()
    if lower == "endpoints":
        return lower
    if lower.endswith("y"):
        return f"{lower.removesuffix('y')}ies"
    return f"{lower}es" if lower.endswith("s") else f"{lower}s"


def qualified(namespace: str | None, name: str) -> str:
    """`namespace/name`, or `name` without a namespace."""
    return f"{namespace}/{name}" if namespace else name


def name_of(manifest: Mapping[str, Any]) -> str:
    """`namespace/name` of an object, or `name` if it is cluster-scoped."""
    metadata = manifest["metadata"]
    return qualified(metadata.get("namespace"), metadata["name"])


def is_terminating(manifest: Mapping[str, Any]) -> bool:
    """Whether the deletion of an object of the cluster has begun."""
    return "deletionTimestamp" in manifest["metadata"]


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Whether a label selector matches; None matches nothing, an empty one everything.

    Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
    """
    if selector is None or not (selector.get("matchLabels") or {}).items() <= labels.items():
        return False
    return all(
        (labels.get(each["key"]) in each["values"] if each.get("values") else each["key"] in labels)
        is (each["operator"] in ("In", "Exists"))
        for each in selector.get("matchExpressions") or ()
    )


DISK = "ephemeral-storage"
"""The resource name of a node's disk: what containers write to their file systems, volumes `emptyDir` and logs."""
_QUANTITY = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]+))?")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def parse_quantity(value: object) -> Decimal:
    """The number that a quantity stands for. Raises ValueError: it is not a quantity."""
    found = _QUANTITY.fullmatch(str(value))
    if found is None:
        raise ValueError(f"{value} is not a quantity")
    number, suffix, exponent = found.groups()
    if suffix in _BINARY:
        return Decimal(number) * Decimal(2) ** _BINARY[suffix]
    return Decimal(number).scaleb(int(exponent or _DECIMAL.get(suffix, 0)))
