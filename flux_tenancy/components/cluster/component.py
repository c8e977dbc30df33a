"""Cluster: the one Kubernetes provider of the stack, what it protects, who may preview it, and what previews lack."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pulumi
import pulumi_kubernetes

from flux_tenancy.components.cluster.client import AccessDenied, find_object
from flux_tenancy.components.cluster.config import Subject, rbac_subject
from flux_tenancy.components.engine.state import unplanned
from flux_tenancy.components.plan import register
from flux_tenancy.components.rbac.subjects import rbac_binding, rbac_role, rules_for, table
from flux_tenancy.components.vocabulary.manifests import Find, Manifest, ResourceTable, name_of, resource_type
from flux_tenancy.version import VERSION

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.cluster.config import ClusterConfig
    from flux_tenancy.components.engine.state import State


PREVIEWER = "flux-tenancy-previewer"
"""Name of the ClusterRole and of its binding."""

_READ = ("get", "list")
READABLE: ResourceTable = table(
    """
    core: configmaps limitranges namespaces pods replicationcontrollers resourcequotas serviceaccounts services
    admissionregistration.k8s.io: mutatingadmissionpolicies mutatingadmissionpolicybindings
        mutatingwebhookconfigurations validatingadmissionpolicies validatingadmissionpolicybindings
        validatingwebhookconfigurations
    apiextensions.k8s.io: customresourcedefinitions
    apiregistration.k8s.io: apiservices
    apps: daemonsets deployments replicasets statefulsets
    batch: cronjobs jobs
    capsule.clastix.io: capsuleconfigurations globaltenantresources tenantowners tenants
    helm.toolkit.fluxcd.io: helmreleases
    image.toolkit.fluxcd.io: imageupdateautomations
    kustomize.toolkit.fluxcd.io: kustomizations
    kyverno.io: policyexceptions
    networking.k8s.io: ingresses networkpolicies
    notification.toolkit.fluxcd.io: alerts providers receivers
    policies.kyverno.io: generatingpolicies imagevalidatingpolicies mutatingpolicies policyexceptions validatingpolicies
    policy: poddisruptionbudgets
    rbac.authorization.k8s.io: clusterrolebindings clusterroles rolebindings roles
    scheduling.k8s.io: priorityclasses
    source.toolkit.fluxcd.io: buckets gitrepositories helmrepositories ocirepositories
    """
)
"""Every kind of object that a stack may have except Secrets, and the kinds that drift looks for: API group, resources.

Discovery, the version and the schemas are open to every authenticated user.
"""


def previewer_access(previewers: Sequence[Subject]) -> list[Manifest]:
    """The ClusterRole and its binding; nothing for a stack without previewers."""
    return read_access(PREVIEWER, READABLE, previewers)


def read_access(name: str, readable: ResourceTable, readers: Iterable[Subject]) -> list[Manifest]:
    """A ClusterRole to read kinds of objects in the whole cluster, and its binding; nothing without readers."""
    subjects = [rbac_subject(each) for each in readers]
    if not subjects:
        return []
    metadata: Manifest = {"name": name}
    return [
        rbac_role("ClusterRole", metadata, rules_for(readable, _READ)),
        rbac_binding("ClusterRoleBinding", metadata, name, subjects),
    ]


class ProtectedResource(NamedTuple):
    """A resource that is protected.

    Attributes:
        type: its type token, e.g. `kubernetes:core/v1:Namespace`.
        name: its name in the state.
    """

    type: str
    name: str

    @property
    def kind(self) -> str:
        return self.type.rpartition(":")[2]

    def __str__(self) -> str:
        return f"{self.type} {self.name}"

    @staticmethod
    def parse(text: str) -> ProtectedResource:
        """The resource that `str` has written."""
        return ProtectedResource(*text.split(" ", 1))


def protect(resources: Collection[ProtectedResource]) -> None:
    """Protect these resources; the engine no longer protects others. Call this before any of them is registered."""
    option = pulumi.ResourceOptions(protect=True)

    def protecting(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if (args.type_, args.name) not in resources:
            return None
        return pulumi.ResourceTransformationResult(args.props, pulumi.ResourceOptions.merge(args.opts, option))

    pulumi.runtime.register_stack_transformation(protecting)


CLUSTER_TYPE = "flux-tenancy:index:Cluster"
"""Type token of the component."""


@dataclass(frozen=True)
class ClusterArgs:
    """What Cluster needs.

    Attributes:
        uid: the cluster's identity; the preflight has compared it with what the stack expects.
        protected: the resources of the stack that are protected, recorded for the next update.
        applied: the files from which the stack is applied, recorded for the next update.
    """

    config: ClusterConfig
    uid: str
    protected: Collection[ProtectedResource] = ()
    applied: Mapping[str, Any] = field(default_factory=dict)


class Cluster(pulumi.ComponentResource):
    """The cluster that everything else of the stack is applied to.

    Attributes:
        provider: the explicit provider; there is no default one.
        uid: the cluster's identity, recorded for the next update.
    """

    provider: pulumi_kubernetes.Provider
    uid: pulumi.Output[str]

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(CLUSTER_TYPE, name, None, opts)
        content = args.config.kubeconfig_content
        self.provider = pulumi_kubernetes.Provider(
            name,
            kubeconfig=pulumi.Output.secret(content.get_secret_value()) if content else args.config.kubeconfig,
            context=args.config.context,
            # The cluster's identity, not the kubeconfig, decides whether objects have to be replaced.
            cluster_identifier=args.uid,
            enable_server_side_apply=True,
            opts=pulumi.ResourceOptions(parent=self),
        )
        for manifest in previewer_access(args.config.previewers):
            register(manifest, pulumi.ResourceOptions(parent=self, provider=self.provider))
        self.uid = pulumi.Output.from_input(args.uid)
        outputs: pulumi.Inputs = {"uid": self.uid, "program": VERSION}
        if args.protected:
            outputs = {**outputs, "protected": sorted(map(str, args.protected))}
        if args.applied:
            # Its time differs between a saved plan and the update.
            outputs = {**outputs, "applied": unplanned(pulumi.Output.from_input(dict(args.applied)))}
        self.register_outputs(outputs)


def known_cluster_uid(state: State) -> str | None:
    """The identity of the cluster that this stack was last applied to, or None before the first time."""
    return next((outputs["uid"] for outputs in state.outputs(CLUSTER_TYPE) if "uid" in outputs), None)


def program_before(state: State) -> str | None:
    """The version of the program that this stack was last applied by, or None before the first time and before 0.1."""
    return next((outputs["program"] for outputs in state.outputs(CLUSTER_TYPE) if "program" in outputs), None)


def applied_before(state: State) -> Mapping[str, Any] | None:
    """The files that this stack was last applied from, or None where no update has recorded them."""
    return next((outputs["applied"] for outputs in state.outputs(CLUSTER_TYPE) if "applied" in outputs), None)


def protected_before(state: State) -> frozenset[ProtectedResource]:
    """The resources that earlier updates have protected."""
    recorded = (each for outputs in state.outputs(CLUSTER_TYPE) for each in outputs.get("protected", ()))
    return frozenset(map(ProtectedResource.parse, recorded))


_PROVIDER_TYPE = "pulumi:providers:kubernetes"


def names_cluster(state: State, uid: str) -> bool:
    """Whether an update of this stack has started in a cluster: the provider is created before its objects.

    The program creates nothing in a cluster that already has a Flux or a Kyverno. So if an update has started, it has
    created whatever carries the program's marks (`components.plan.carries_marks`).
    """
    return any(outputs.get("clusterIdentifier") == uid for outputs in state.outputs(_PROVIDER_TYPE))


T = TypeVar("T")
D = TypeVar("D")


_SECRET = "Secret"


def if_readable(read: Callable[[], T], otherwise: D) -> T | D:
    """What is read, or something else in a preview by a user who may not read it.

    Raises:
        ClusterUnavailable: the cluster does not answer, or in an update not to this user.
    """
    try:
        return read()
    except AccessDenied:
        if not pulumi.runtime.is_dry_run():
            raise
        return otherwise


def finder(api: client.ApiClient, state: State) -> Find:
    """Looks up objects of the cluster, and Secrets that a preview may not read in the stack's state.

    The state has every Secret of the stack as it was applied; those that sources and syncs refer to are immutable.
    """

    def find(manifest: Mapping[str, Any]) -> Mapping[str, Any] | None:
        wanted = dict(manifest)
        if wanted["kind"] != _SECRET:
            return find_object(api, wanted)
        applied = (each for each in state.outputs(resource_type(wanted)) if name_of(dict(each)) == name_of(wanted))
        return if_readable(lambda: find_object(api, wanted), next(applied, None))

    return find


def readable_only(find: Find) -> Find:
    """A look-up that in a preview finds nothing of a kind that its user may not read.

    Previewers need not be allowed to read kinds that only some stacks have, such as HelmReleases.
    """

    def found(manifest: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return if_readable(lambda: find(manifest), None)

    return found
