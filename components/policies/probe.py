"""How the program sees that a set of policies is in force, and not only registered.

An engine takes a moment to act on a policy. The probe is one more policy, registered after all others, that refuses one
request which nobody else makes and says in its refusal which set it belongs to. Once a dry run of that request is
refused with the digest of the current set, the set before it is in force.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256

from components.cluster.manifests import Manifest
from components.policies.config import PolicyEngine
from components.policies.kyverno import manifests as kyverno_manifests
from components.policies.native import manifests as native_manifests
from components.policies.rendering import OBJECT_PREFIX
from components.sync.names import FLUX_NAMESPACE

PROBE_NAME = f"{OBJECT_PREFIX}probe"
PROBE_LABEL = "flux-tenancy/probe"
_DIGEST_LENGTH = 16


def digest_of(manifests: Iterable[Manifest]) -> str:
    """A name for a set of manifests, which changes with anything that changes in them."""
    written = json.dumps(list(manifests), sort_keys=True)
    return sha256(written.encode()).hexdigest()[:_DIGEST_LENGTH]


def refusal(digest: str) -> str:
    """What the engine's answer to `probe_request` holds once the set with this digest is in force."""
    return f"flux-tenancy policies {digest} are in force"


def probe_request(engine: PolicyEngine) -> Manifest:
    """What to create, as a dry run, to learn which set of an engine is in force.

    Each engine has its own: where both admit, Kubernetes would refuse before Kyverno is asked.
    """
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": PROBE_NAME, "namespace": FLUX_NAMESPACE, "labels": {PROBE_LABEL: engine.value}},
    }


def probe_policy(engine: PolicyEngine, digest: str) -> list[Manifest]:
    """The probe of one engine (`native` or `kyverno`), which names the set with this digest.

    It sees no other request: should its engine be down, nothing else is refused for it.
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
