"""Which namespaces and custom resource definitions are protected, and updates that would delete one of them.

They take along what is in them: all objects of a tenant, or all objects of a kind. The engine refuses to delete them,
but an update without a preview finds that out last, when it has already deleted what depends on them: a tenant's sync,
with everything that Flux applied. So the program refuses such an update before anything is applied.

What is protected is recorded with the cluster, since a program cannot read it from the state of a resource.

Source: DeleteStep.Apply in pkg/resource/deploy/step.go of Pulumi
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flux_tenancy.components.cluster.client import ClusterFacts
from flux_tenancy.components.cluster.component import (
    ProtectedResource,
    known_cluster_uid,
    names_cluster,
    protected_before,
)
from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.installs.capsule import CAPSULE_GROUP
from flux_tenancy.components.installs.kyverno import KYVERNO
from flux_tenancy.components.installs.product import RELEASE_TYPE
from flux_tenancy.components.stack.cluster.namespaces import NAMESPACE_TYPE
from flux_tenancy.components.stack.config import StackConfig, is_production
from flux_tenancy.components.vocabulary.manifests import Manifest, resource_type
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

_DELETE_ON_PURPOSE = (
    "run `pulumi up --ignore-protect`, or set cluster.protect to false and run `pulumi up` before (docs/running.md)"
)

# With each kind that is protected, what a deletion takes along.
TAKEN_ALONG = {
    "Namespace": "everything in it",
    "CustomResourceDefinition": "every object of its kind",
    # The chart contains Kyverno's definitions.
    "Release": "Kyverno's definitions and every policy",
}
_KYVERNO = frozenset(
    {ProtectedResource(RELEASE_TYPE, KYVERNO.name), ProtectedResource(NAMESPACE_TYPE, KYVERNO.namespace)}
)


def is_protected(config: StackConfig, stack: str) -> bool:
    """Whether a stack is protected: as `cluster.protect` says, or by default if it is a production environment."""
    return config.cluster.protect if config.cluster.protect is not None else is_production(stack, config)


def protectable_resources(config: StackConfig, release: Iterable[Manifest]) -> frozenset[ProtectedResource]:
    """The resources of a stack that take others along when they are deleted."""
    of_releases = {
        ProtectedResource(resource_type(manifest), manifest["metadata"]["name"])
        for manifest in release
        if manifest["kind"] in TAKEN_ALONG
    }
    of_tenants = {ProtectedResource(NAMESPACE_TYPE, name) for name in config.tenant_of_namespaces}
    return frozenset(of_releases | of_tenants | (_KYVERNO if config.kyverno is not None else set()))


def protected_resources(
    config: StackConfig, release: Iterable[Manifest], stack: str, cluster: ClusterFacts, state: State
) -> frozenset[ProtectedResource]:
    """The resources that this update protects: all that are protectable, except for namespaces of leaving tenants.

    If the cluster was replaced, which `cluster.uid` has to say, the next update protects them: the engine replaces a
    resource only if its protection ends in the same update.
    """
    if not is_protected(config, stack) or known_cluster_uid(state) not in (None, cluster.uid):
        return frozenset()
    leaving = [name for tenant in config.tenants.values() if tenant.is_leaving for name in tenant.namespace_names]
    return protectable_resources(config, release) - {ProtectedResource(NAMESPACE_TYPE, name) for name in leaving}


def deletion_problems(
    config: StackConfig, release: Iterable[Manifest], cluster: ClusterFacts, state: State, stack_file: str
) -> Iterator[Problem]:
    """A problem for each protected resource that an update would delete."""
    if not names_cluster(state, cluster.uid):
        return
    known = protected_before(state) & state.resources.keys()
    for resource in sorted(known - protectable_resources(config, release)):
        if tenant := _tenant_of(resource, state):
            if tenant in config.tenants:  # Others are absent (`absent_tenants`), or leaving.
                yield Problem(
                    stack_file,
                    f"tenants.{tenant}.namespaces",
                    _protected(resource, f"list it again, or, to delete it on purpose, {_DELETE_ON_PURPOSE}"),
                )
        else:
            yield Problem(
                stack_file,
                _section_of(resource),
                _protected(resource, f"to delete it on purpose, {_DELETE_ON_PURPOSE}"),
            )


def _protected(resource: ProtectedResource, remedy: str) -> Message:
    return Message(
        "FT-CLU-116",
        f"{resource.kind} {resource.name} is protected, and this update would delete it with "
        f"{TAKEN_ALONG[resource.kind]}",
        remedy,
    )


def _section_of(resource: ProtectedResource) -> str:
    """The section of the configuration that installs a resource of the platform."""
    if resource in _KYVERNO:
        return "kyverno"
    return "capsule" if resource.name.endswith(f".{CAPSULE_GROUP}") else "flux"


def _tenant_of(resource: ProtectedResource, state: State) -> str:
    """The tenant that a resource belongs to; empty if it is the platform's."""
    metadata = state.resources.get(resource, {}).get("metadata") or {}
    tenant: str = (metadata.get("labels") or {}).get(TENANT_LABEL, "")
    return tenant
