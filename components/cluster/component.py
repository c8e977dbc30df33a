"""Cluster: the one Kubernetes provider of the stack, and who may preview it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes

from components.cluster.config import ClusterConfig
from components.cluster.previewers import previewer_access
from components.cluster.protection import ProtectedResource
from components.engine.state import State
from components.plan.registration import register

CLUSTER_TYPE = "flux-tenancy:index:Cluster"
"""Type token of the component."""


@dataclass(frozen=True)
class ClusterArgs:
    """What Cluster needs.

    Attributes:
        config: the `cluster` section of the stack.
        uid: the cluster's identity; the preflight has compared it with what the stack expects.
        protected: the resources of the stack that are protected, recorded for the next update.
    """

    config: ClusterConfig
    uid: str
    protected: Collection[ProtectedResource] = ()


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
        outputs: pulumi.Inputs = {"uid": self.uid}
        if args.protected:
            outputs = {**outputs, "protected": sorted(map(str, args.protected))}
        self.register_outputs(outputs)


def known_cluster_uid(state: State) -> str | None:
    """The identity of the cluster that this stack was last applied to, or None before the first time."""
    return next((outputs["uid"] for outputs in state.outputs(CLUSTER_TYPE) if "uid" in outputs), None)


def protected_before(state: State) -> frozenset[ProtectedResource]:
    """The resources that earlier updates have protected."""
    recorded = (each for outputs in state.outputs(CLUSTER_TYPE) for each in outputs.get("protected", ()))
    return frozenset(map(ProtectedResource.parse, recorded))
