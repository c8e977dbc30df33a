"""Capsule's chart and definitions, the objects around them, and whether the user may administrate them."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.installs.capsule.config import CAPSULE
from flux_tenancy.components.installs.chart import Chart, PinnedChart, read_chart
from flux_tenancy.components.vocabulary.manifests import RBAC, Manifest

if TYPE_CHECKING:
    from flux_tenancy.components.installs.capsule.config import CapsuleConfig

_DEFINITIONS = "capsule/crds/"


@dataclass(frozen=True)
class CapsuleRelease:
    """What is installed of Capsule.

    Attributes:
        definitions: its custom resource definitions, which Helm would neither upgrade nor remove.
    """

    chart: Chart
    definitions: tuple[Manifest, ...]


def read_capsule(config: CapsuleConfig, project: Path) -> CapsuleRelease:
    """The release that the `capsule` section pins, with the chart written into the project.

    Raises:
        PinnedInputError: it cannot be had, or is not the one (`components.installs.chart.read_chart`).
    """
    pinned = PinnedChart(config.version, config.address, config.chart.bundle, config.sha256)
    chart = read_chart(CAPSULE, pinned, project)
    with tarfile.open(project / chart.path) as archive:
        files = [archive.extractfile(name) for name in sorted(archive.getnames()) if _is_definition(name)]
        definitions = [yaml.load(file, FastLoader) for file in files if file is not None]
    return CapsuleRelease(chart, tuple(_newest_only(each) for each in definitions))


def _is_definition(path: str) -> bool:
    return path.startswith(_DEFINITIONS) and path.endswith(".yaml")


def _newest_only(definition: Manifest) -> Manifest:
    """The definition, serving only the version in which objects are stored.

    Nothing converts an older version then, so no request depends on Capsule's conversion webhook, and no old manifest
    loses a field silently.
    """
    versions = [version | {"served": version["storage"]} for version in definition["spec"]["versions"]]
    return definition | {"spec": definition["spec"] | {"versions": versions}}


CAPSULE_GROUP = "capsule.clastix.io"
DEFINITION_TYPE = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"

CREATED_BY_LABEL = "projectcapsule.dev/created-by"
"""Capsule's label on its webhook configurations, ClusterRoles and bindings."""
CREATED_WEBHOOKS = {CREATED_BY_LABEL: "controller"}
_CREATED_ROLES = {CREATED_BY_LABEL: "rbac-controller"}

WEBHOOKS = "capsule-dynamic-webhook"
"""Name of Capsule's validating and of its mutating webhook configuration."""
NAMESPACE_PROVISIONER, NAMESPACE_DELETER = "capsule-namespace-provisioner", "capsule-namespace-deleter"
"""Capsule's ClusterRoles to create and to delete namespaces."""
_VERBS = {NAMESPACE_PROVISIONER: ("create", "patch"), NAMESPACE_DELETER: ("delete",)}


def generated_objects() -> list[Manifest]:
    """What Capsule fills in: its webhook configurations, and the roles to create and delete namespaces.

    Capsule creates those that are missing and keeps them up to date, and the chart removes some of them in a Job that
    needs an image of its own. With webhooks that remain, nobody could change a namespace any more. Registered here,
    they are deleted with the stack, when no Capsule is left that would create them again.
    """
    return [
        *(_webhooks(kind) for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")),
        # With their rules: Capsule ends if it has to change a role while it also reconciles it.
        *(_role("ClusterRole", name) | {"rules": [_rule(verbs)]} for name, verbs in _VERBS.items()),
        _role("ClusterRoleBinding", NAMESPACE_PROVISIONER)
        | {"roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": NAMESPACE_PROVISIONER}},
    ]


def _webhooks(kind: str) -> Manifest:
    metadata = {"name": WEBHOOKS, "labels": CREATED_WEBHOOKS}
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata}


def _role(kind: str, name: str) -> Manifest:
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": {"name": name, "labels": _CREATED_ROLES}}


def _rule(verbs: Iterable[str]) -> Manifest:
    return {"apiGroups": [""], "resources": ["namespaces"], "verbs": list(verbs)}
