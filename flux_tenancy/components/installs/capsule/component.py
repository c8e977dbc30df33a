"""CapsuleInstall: a pinned Capsule release, locked down, that serves before anything is built on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pulumi

from flux_tenancy.components.cluster.client import refusal
from flux_tenancy.components.cluster.hooks import after_changes, ready_hook
from flux_tenancy.components.installs.capsule.config import CAPSULE
from flux_tenancy.components.installs.capsule.objects import CapsuleRelease, generated_objects, namespace
from flux_tenancy.components.installs.capsule.serving import NAMESPACES_PATH, wait_until_serving
from flux_tenancy.components.installs.capsule.values import helm_values
from flux_tenancy.components.installs.chart import release
from flux_tenancy.components.plan.registration import register

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.installs.capsule.config import CapsuleConfig


@dataclass(frozen=True)
class CapsuleInstallArgs:
    """What CapsuleInstall needs.

    Attributes:
        config: the `capsule` section of the stack.
        release: the chart and the definitions of that release, digest already checked
            (`components.installs.capsule.objects.read_capsule`).
        api: a client for the cluster, to check whether Capsule serves.
        bindable_roles: names of the ClusterRoles that Capsule may bind in tenants' namespaces, besides its own.
    """

    config: CapsuleConfig
    release: CapsuleRelease
    api: client.ApiClient
    bindable_roles: Sequence[str] = ()


class CapsuleInstall(pulumi.ComponentResource):
    """Capsule's custom resource definitions, its controller and webhooks.

    Once it is installed, the API server asks Capsule about every change of a namespace. So whatever changes one depends
    on `release` and has the hook `serving`:

        pulumi.ResourceOptions(depends_on=[capsule.release], hooks=before_changes([capsule.serving]))

    Attributes:
        version: the installed release.
        release: the installed chart.
        serving: waits until Capsule serves.
    """

    version: pulumi.Output[str]
    release: pulumi.CustomResource
    serving: pulumi.ResourceHook

    def __init__(self, name: str, args: CapsuleInstallArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("flux-tenancy:index:CapsuleInstall", name, None, opts)
        base = [
            register(each, pulumi.ResourceOptions(parent=self)) for each in (namespace(), *args.release.definitions)
        ]
        # Created before Capsule and deleted after it, but before the namespace, which could not be deleted otherwise.
        filled = [register(each, pulumi.ResourceOptions(parent=self, depends_on=base)) for each in generated_objects()]
        asked = partial(refusal, args.api, NAMESPACES_PATH)
        self.serving = ready_hook("capsule-serving", lambda: wait_until_serving(asked))
        self.release = release(
            CAPSULE,
            args.release.chart,
            helm_values(args.config, args.bindable_roles),
            pulumi.ResourceOptions(parent=self, depends_on=[*base, *filled], hooks=after_changes(self.serving)),
            skipCrds=True,
        )
        self.version = pulumi.Output.from_input(args.config.version)
        self.register_outputs({"version": self.version})
