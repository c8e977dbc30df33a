"""Cluster: the one Kubernetes provider of the stack, what it protects, and who may preview it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import pulumi
import pulumi_kubernetes

from flux_tenancy.components.cluster.subjects import Subject, rbac_subject
from flux_tenancy.components.engine.state import unplanned
from flux_tenancy.components.plan import register
from flux_tenancy.components.rbac.subjects import rbac_binding, rbac_role, rules_for, table
from flux_tenancy.components.vocabulary.manifests import Manifest, ResourceTable
from flux_tenancy.version import VERSION

if TYPE_CHECKING:
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
