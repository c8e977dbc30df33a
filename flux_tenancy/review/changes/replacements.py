"""Objects that an update does not change but replaces: it deletes the object and creates it again.

Source: `forceNewProperties` in provider/pkg/provider/diff.go and `Diff` in helm_release.go of pulumi-kubernetes, and
`ForceNew` in resource_github_repository_deploy_key.go and resource_github_repository_webhook.go of
terraform-provider-github
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from flux_tenancy.components.git.github import DEPLOY_KEY_TYPE, WEBHOOK_TYPE
from flux_tenancy.components.installs.chart import RELEASE_TYPE
from flux_tenancy.components.vocabulary.manifests import RBAC_API
from flux_tenancy.review.changes.objects import Action, ObjectChange
from flux_tenancy.review.words.statement import Statement

_IDENTITY = ("metadata.name", "metadata.namespace")


@dataclass(frozen=True)
class Immutable:
    """What cannot change in objects of a type.

    Attributes:
        fields: paths of fields, each with everything below it.
        loses: what is lost between the deletion and the creation; empty if nothing is.
    """

    fields: tuple[str, ...] = ()
    loses: str = ""


_PODS = "its Pods are deleted before new ones run"
IMMUTABLE: Mapping[str, Immutable] = {
    "kubernetes:core/v1:Namespace": Immutable(loses="everything in it is deleted"),
    "kubernetes:core/v1:ConfigMap": Immutable(("data", "binaryData")),
    "kubernetes:core/v1:Secret": Immutable(("data", "stringData", "type")),
    "kubernetes:core/v1:Service": Immutable(("spec.clusterIP",), "its addresses change, including a load balancer's"),
    "kubernetes:core/v1:ResourceQuota": Immutable(("spec.scopes",)),
    "kubernetes:core/v1:PersistentVolumeClaim": Immutable(
        ("spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeName"),
        "its volume is deleted with the data, unless the reclaim policy is Retain",
    ),
    "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition": Immutable(
        loses="every object of it is deleted in the whole cluster"
    ),
    "kubernetes:apps/v1:Deployment": Immutable(("spec.selector",), _PODS),
    "kubernetes:apps/v1:DaemonSet": Immutable(("spec.selector",), _PODS),
    "kubernetes:apps/v1:StatefulSet": Immutable(
        (
            "spec.podManagementPolicy",
            "spec.revisionHistoryLimit",
            "spec.selector",
            "spec.serviceName",
            "spec.volumeClaimTemplates",
        ),
        _PODS,
    ),
    "kubernetes:batch/v1:Job": Immutable(
        ("spec.completions", "spec.parallelism", "spec.selector", "spec.template"), "it stops and starts over"
    ),
    f"kubernetes:{RBAC_API}:ClusterRoleBinding": Immutable(("roleRef",)),
    f"kubernetes:{RBAC_API}:RoleBinding": Immutable(("roleRef",)),
    "kubernetes:storage.k8s.io/v1:StorageClass": Immutable(("parameters", "provisioner")),
    RELEASE_TYPE: Immutable(
        ("properties.name", "properties.namespace"), "every object of the Helm release is deleted, custom resources too"
    ),
    DEPLOY_KEY_TYPE: Immutable(("properties.key", "properties.readOnly", "properties.repository", "properties.title")),
    WEBHOOK_TYPE: Immutable(("properties.repository",)),
}
"""By type; the name and the namespace of every Kubernetes object are immutable, too."""


def immutable_fields(change: ObjectChange) -> tuple[str, ...]:
    """The changed fields because of which an object is replaced; empty if it is not."""
    if change.action is not Action.CHANGED:
        return ()
    fields = (*_IDENTITY, *IMMUTABLE.get(change.object.type, Immutable()).fields)
    changed = [field.name for field in change.fields]
    return tuple(
        key for key in fields if any(name == key or name.startswith((f"{key}.", f"{key}[")) for name in changed)
    )


def replacement_risks(changes: Iterable[ObjectChange]) -> Iterator[Statement]:
    """A risk for each kind of object whose replacement loses something.

    Args:
        changes: what differs in a stack.
    """
    found = Counter[tuple[str, str, str, tuple[str, ...]]]()
    for change in changes:
        loses = IMMUTABLE.get(change.object.type, Immutable()).loses
        if loses and (fields := immutable_fields(change)):
            found[change.object.owner, change.object.kind, loses, fields] += 1
    for (owner, kind, loses, fields), count in found.items():
        what = f"a {kind}" if count == 1 else f"{count} objects of kind {kind}"
        yield Statement(owner, f"replaces {what}, because {' and '.join(fields)} cannot change: {loses}", risk=True)
