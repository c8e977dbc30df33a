"""The probe: a policy that shows that a set of policies is in force, and not only registered.

An engine needs a moment to load a policy. The probe is registered after all others; it refuses a single request that
nobody else makes, with the digest of its set. Once a dry run of that request is refused with the digest of the current
set, all policies of the set are in force.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256

from components.policies.config import PolicyEngine
from components.policies.kyverno import manifests as kyverno_manifests
from components.policies.native import manifests as native_manifests
from components.policies.rendering import OBJECT_PREFIX
from components.vocabulary.manifests import Manifest
from components.vocabulary.names import FLUX_NAMESPACE

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
