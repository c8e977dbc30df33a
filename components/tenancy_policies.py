"""NativePolicies and KyvernoPolicies: what admission refuses in tenants' namespaces, in force before any tenant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import pulumi
from kubernetes import client

from components.awaited import awaited
from components.configuration.policies import PolicyEngine
from components.kubernetes_api import refusal
from components.manifests import Manifest, register
from components.policies.in_force import PROBE_PATH, wait_until_in_force
from components.policies.table import PolicySet


@dataclass(frozen=True)
class PoliciesArgs:
    """What the policies of one engine need.

    Attributes:
        policies: their objects (`components.policies.table.policy_set`).
        api: a client for the cluster, to see whether they are in force.
    """

    policies: PolicySet
    api: client.ApiClient


class _Policies(pulumi.ComponentResource):
    """The policies of one engine.

    What they are to guard depends on `in_force`, alone or in a list; a preview waits for nothing.

    Attributes:
        in_force: the last of them, as soon as the engine acts on all.
    """

    ENGINE: ClassVar[PolicyEngine]
    in_force: pulumi.Output[pulumi.Resource]

    def __init__(self, name: str, args: PoliciesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(f"flux-tenancy:index:{type(self).__name__}", name, None, opts)
        registered = [self._register(manifest, []) for manifest in args.policies.manifests]
        # It changes with each of them, and says which of them the engine knows.
        for manifest in args.policies.probe:
            registered.append(self._register(manifest, [*registered]))
        # Only the last: each tenant would else name every policy in the state as what it depends on.
        asked = partial(refusal, args.api, PROBE_PATH)
        self.in_force = awaited(registered[-1], lambda: wait_until_in_force(self.ENGINE, args.policies.digest, asked))
        self.register_outputs({})

    def _register(self, manifest: Manifest, after: list[pulumi.Resource]) -> pulumi.CustomResource:
        return register(manifest, pulumi.ResourceOptions(parent=self, depends_on=after))


class NativePolicies(_Policies):
    """The policies as ValidatingAdmissionPolicies, which stand even when no webhook does."""

    ENGINE = PolicyEngine.NATIVE


class KyvernoPolicies(_Policies):
    """The policies as Kyverno's, which also look into registries and make objects."""

    ENGINE = PolicyEngine.KYVERNO
