"""Cluster: the one Kubernetes provider of the stack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes
from pulumi.runtime.settings import get_root_resource

from components.configuration import ClusterConfig

_TYPE = "flux-tenancy:index:Cluster"


@dataclass(frozen=True)
class ClusterArgs:
    """What Cluster needs.

    Attributes:
        config: the `cluster` section of the stack.
        uid: who the cluster is; the preflight has compared it with what the stack expects.
    """

    config: ClusterConfig
    uid: str


class Cluster(pulumi.ComponentResource):
    """The cluster that everything else of the stack is applied to.

    Attributes:
        provider: the explicit provider; there is no default one.
        uid: the cluster's identity, recorded for the next update.
    """

    provider: pulumi_kubernetes.Provider
    uid: pulumi.Output[str]

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(_TYPE, name, None, opts)
        content = args.config.kubeconfig_content
        self.provider = pulumi_kubernetes.Provider(
            name,
            kubeconfig=pulumi.Output.secret(content.get_secret_value()) if content else args.config.kubeconfig,
            context=args.config.context,
            # Not the kubeconfig but the cluster decides whether the objects are still where they were put.
            cluster_identifier=args.uid,
            enable_server_side_apply=True,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.uid = pulumi.Output.from_input(args.uid)
        self.register_outputs({"uid": self.uid})


async def recorded_uid() -> str | None:
    """The identity of the cluster that this stack was last applied to, from the stack's own state.

    It is read from the resources and not from the stack's outputs, since an update that failed halfway records none.
    """
    # The engine has written what it knows once it answers for the stack itself; before, it may be writing just now.
    await get_root_resource().urn.future()
    stack = f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
    answer = await pulumi.runtime.invoke_async("pulumi:pulumi:readStackResourceOutputs", {"stackName": stack})
    resources: dict[str, dict[str, Any]] = answer["outputs"]
    clusters = (found["outputs"] for urn, found in resources.items() if f"::{_TYPE}::" in urn)
    return next((outputs["uid"] for outputs in clusters if "uid" in outputs), None)
