"""KyvernoInstall: a pinned Kyverno release, locked down, that serves before anything is built on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pulumi

from flux_tenancy.components.cluster.client import refusal
from flux_tenancy.components.cluster.hooks import after_changes, ready_hook
from flux_tenancy.components.installs.chart import Chart, release
from flux_tenancy.components.installs.kyverno.config import KYVERNO
from flux_tenancy.components.installs.kyverno.objects import (
    POLICIES_PATH,
    helm_values,
    wait_until_serving,
    webhook_configurations,
)
from flux_tenancy.components.plan import register

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.installs.kyverno.config import KyvernoConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest


@dataclass(frozen=True)
class KyvernoInstallArgs:
    """What KyvernoInstall needs.

    Attributes:
        chart: the chart of that release, digest already checked (`components.installs.kyverno.objects.kyverno_chart`).
        api: a client for the cluster, to check whether Kyverno serves.
        background_rules: RBAC rules for what the platform's policies generate and mutate in the background.
        further_kinds: whether the stack installs further kinds while Kyverno serves.
        largest_object: size in KiB of the largest pod that tenants may create; None keeps the chart's memory limit.
    """

    config: KyvernoConfig
    chart: Chart
    api: client.ApiClient
    background_rules: Sequence[Manifest] = ()
    further_kinds: bool = False
    largest_object: int | None = None


class KyvernoInstall(pulumi.ComponentResource):
    """Kyverno's custom resource definitions, controllers and webhooks.

    Whatever needs Kyverno to serve depends on `release` and has the hook `serving`:

        pulumi.ResourceOptions(depends_on=[kyverno.release], hooks=before_changes([kyverno.serving]))
    """

    version: pulumi.Output[str]
    release: pulumi.CustomResource
    serving: pulumi.ResourceHook

    def __init__(self, name: str, args: KyvernoInstallArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("flux-tenancy:index:KyvernoInstall", name, None, opts)
        # Created first and deleted last, when no Kyverno is left that would create them again.
        webhooks = [register(manifest, pulumi.ResourceOptions(parent=self)) for manifest in webhook_configurations()]
        home = register(KYVERNO.own_namespace(), pulumi.ResourceOptions(parent=self, depends_on=webhooks))
        asked = partial(refusal, args.api, POLICIES_PATH)
        self.serving = ready_hook("kyverno-serving", lambda: wait_until_serving(asked))
        self.release = release(
            KYVERNO,
            args.chart,
            helm_values(args.config, args.background_rules, args.further_kinds, args.largest_object),
            pulumi.ResourceOptions(parent=self, depends_on=[home], hooks=after_changes(self.serving)),
        )
        self.version = pulumi.Output.from_input(args.config.version)
        self.register_outputs({"version": self.version})
