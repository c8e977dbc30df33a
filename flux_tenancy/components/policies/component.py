"""NativePolicies and KyvernoPolicies: the tenancy policies, enforced before any tenant is created or changed.

The probe is a policy that shows that a set of policies is in force, and not only registered.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, ClassVar

import pulumi

from flux_tenancy.components.cluster.client import ClusterUnavailable, ask, explaining, refusal
from flux_tenancy.components.cluster.hooks import NotReady, after_changes, before_changes, ready_hook, wait_for
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.plan import register
from flux_tenancy.components.policies.config import PolicyEngine
from flux_tenancy.components.policies.rendering import OBJECT_PREFIX, kyverno_manifests, native_manifests
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.policies.table import PolicySet
    from flux_tenancy.components.vocabulary.manifests import Manifest


PROBE_NAME = f"{OBJECT_PREFIX}probe"
PROBE_LABEL = "flux-tenancy/probe"
_DIGEST_LENGTH = 16


def digest_of(manifests: Iterable[Manifest]) -> str:
    """A digest of a set of manifests."""
    written = json.dumps(list(manifests), sort_keys=True)
    return sha256(written.encode()).hexdigest()[:_DIGEST_LENGTH]


def probe_answer(digest: str) -> str:
    """Part of the engine's answer to `probe_request` once the set with this digest is in force."""
    return f"flux-tenancy policies {digest} are in force"


def probe_request(engine: PolicyEngine) -> Manifest:
    """The object of a dry run that shows which set of an engine is in force.

    Each engine has its own: with both engines, Kubernetes would refuse before Kyverno is called.
    """
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": PROBE_NAME, "namespace": FLUX_NAMESPACE, "labels": {PROBE_LABEL: engine.value}},
    }


def probe_policy(engine: PolicyEngine, digest: str) -> list[Manifest]:
    """The probe of one engine (`native` or `kyverno`) for the set with this digest.

    It matches no other request, so it blocks nothing if its engine is down.
    """
    specification: Manifest = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["*"], "resources": ["configmaps"], "operations": ["CREATE"]}
            ],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": FLUX_NAMESPACE}},
            "objectSelector": {"matchLabels": {PROBE_LABEL: engine.value}},
        },
        "validations": [{"expression": "false", "message": probe_answer(digest)}],
    }
    if engine is PolicyEngine.KYVERNO:
        return kyverno_manifests(PROBE_NAME, specification, ["Deny"], background=False)
    return native_manifests(PROBE_NAME, specification, ["Deny"])


PROBE_PATH = f"/api/v1/namespaces/{FLUX_NAMESPACE}/configmaps"
# The API server needs a moment, Kyverno's webhooks some seconds.
TIMEOUT_SECONDS = 120.0


class NotInForce(NotReady):
    """The policies are registered, but not enforced yet."""


def wait_until_in_force(
    engine: PolicyEngine,
    digest: str,
    asked: Callable[[Manifest], str | None],
    timeout_seconds: float = TIMEOUT_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until an engine enforces a set of policies.

    Args:
        engine: `native` or `kyverno`.
        asked: returns the cluster's refusal of an object in a dry run, or None if it accepts the object.

    Raises:
        NotInForce: the policies are not enforced in time.
    """

    def missing() -> str | None:
        answer = asked(probe_request(engine))
        if answer is None:
            return "the cluster accepts an object that they refuse"
        return None if probe_answer(digest) in answer else f"the cluster refuses it for another reason: {answer}"

    if reason := wait_for(missing, timeout_seconds, clock, sleep):
        raise NotInForce(
            Message(
                "FT-POL-001",
                f"the engine {engine.value} does not enforce the policies {timeout_seconds:.0f} s after they were "
                f"applied, so no tenant was changed: {reason}",
                "check that the API server and, for kyverno, Kyverno are healthy, and run the update again",
            )
        )


# The namespace that has the events of cluster-scoped objects.
EVENTS_PATH = "/api/v1/namespaces/default/events"
# The provider has the events from a watch, and learns of their deletion a moment later.
_WATCH_SECONDS = 2.0


def forget_refusals(api: client.ApiClient, sleep: Callable[[float], None] = time.sleep) -> None:
    """Delete the events of earlier updates' probes, and wait until the provider's watch has seen that.

    If they cannot be deleted, Pulumi shows the warning and goes on.
    """
    with suppress(ClusterUnavailable), explaining(api):
        deleted = ask(api, "DELETE", EVENTS_PATH, fieldSelector=f"involvedObject.name={PROBE_NAME}")
        if json.loads(deleted.data).get("items"):
            sleep(_WATCH_SECONDS)


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
