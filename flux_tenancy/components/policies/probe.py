"""The probe: a policy that shows that a set of policies is in force, and not only registered."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING

from flux_tenancy.components.cluster.client import ClusterUnavailable, ask, explaining
from flux_tenancy.components.cluster.hooks import NotReady, wait_for
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.policies.config import PolicyEngine
from flux_tenancy.components.policies.rendering import OBJECT_PREFIX, kyverno_manifests, native_manifests
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.vocabulary.manifests import Manifest


PROBE_NAME = f"{OBJECT_PREFIX}probe"
PROBE_LABEL = "flux-tenancy/probe"
_DIGEST_LENGTH = 16


def digest_of(manifests: Iterable[Manifest]) -> str:
    """A digest of a set of manifests."""
    written = json.dumps(list(manifests), sort_keys=True)
    return sha256(written.encode()).hexdigest()[:_DIGEST_LENGTH]


def refusal(digest: str) -> str:
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
        "validations": [{"expression": "false", "message": refusal(digest)}],
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
        return None if refusal(digest) in answer else f"the cluster refuses it for another reason: {answer}"

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
