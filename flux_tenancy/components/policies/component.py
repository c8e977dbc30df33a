"""NativePolicies and KyvernoPolicies: the tenancy policies, enforced before any tenant is created or changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import pulumi

from flux_tenancy.components.cluster.client import refusal
from flux_tenancy.components.cluster.hooks import after_changes, before_changes, ready_hook
from flux_tenancy.components.plan import register
from flux_tenancy.components.policies.config import PolicyEngine
from flux_tenancy.components.policies.probe import PROBE_PATH, forget_refusals, wait_until_in_force

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.policies.table import PolicySet
    from flux_tenancy.components.vocabulary.manifests import Manifest


@dataclass(frozen=True)
class PoliciesArgs:
    """Arguments of the policies of one engine.

    Attributes:
        policies: their objects (`components.policies.table.policy_set`).
        api: a client for the cluster, to test whether they are in force.
        ready: hooks that wait until the engine takes policies.
    """

    policies: PolicySet
    api: client.ApiClient
    ready: Sequence[pulumi.ResourceHook] = ()


class _Policies(pulumi.ComponentResource):
    """The policies of one engine.

    What they guard depends on `last` and has the hook `in_force`.

    Attributes:
        last: the object that is registered last.
        in_force: waits until the engine enforces all of them.
    """

    ENGINE: ClassVar[PolicyEngine]
    last: pulumi.CustomResource
    in_force: pulumi.ResourceHook

    def __init__(self, name: str, args: PoliciesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(f"flux-tenancy:index:{type(self).__name__}", name, None, opts)
        asked = partial(refusal, args.api, PROBE_PATH)
        name_in_state = f"{self.ENGINE.value}-policies-in-force"
        self.in_force = ready_hook(name_in_state, lambda: wait_until_in_force(self.ENGINE, args.policies.digest, asked))
        self._waiting = pulumi.ResourceOptions(parent=self, hooks=before_changes(args.ready))
        registered = [self._register(manifest) for manifest in args.policies.manifests]
        # The probe's policy comes last: it changes with every other policy and shows which set the engine has loaded,
        # so an update waits for its policies even if they guard nothing new.
        policy, *bindings = args.policies.probe
        for manifest in bindings:
            registered.append(self._register(manifest, pulumi.ResourceOptions(depends_on=[*registered])))
        hooks = after_changes(self.in_force)
        if self.ENGINE is PolicyEngine.KYVERNO:
            # Pulumi would show earlier refusals of the probe as a warning when it changes.
            forget = partial(forget_refusals, args.api)
            hooks.before_update = [ready_hook(f"{self.ENGINE.value}-probe-refusals-forgotten", forget)]
        opts = pulumi.ResourceOptions(depends_on=registered, hooks=hooks)
        # Only the last: else each tenant would list every policy as a dependency in the state.
        self.last = self._register(policy, opts)
        self.register_outputs({})

    def _register(self, manifest: Manifest, opts: pulumi.ResourceOptions | None = None) -> pulumi.CustomResource:
        return register(manifest, pulumi.ResourceOptions.merge(self._waiting, opts))


class NativePolicies(_Policies):
    """The policies as ValidatingAdmissionPolicies, which need no webhook."""

    ENGINE = PolicyEngine.NATIVE


class KyvernoPolicies(_Policies):
    """The policies as Kyverno's, which also read registries and generate objects."""

    ENGINE = PolicyEngine.KYVERNO
