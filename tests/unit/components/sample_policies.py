"""What the policies say and how they are rendered: applied clusters have these words and objects.

A change of them is a change of every stack.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sample_stack import flux_config

from flux_tenancy.components.policies.component import digest_of
from flux_tenancy.components.policies.config import PoliciesConfig, PolicyEngine, PolicyMode
from flux_tenancy.components.policies.kyverno_only import kyverno_only
from flux_tenancy.components.policies.native_only import tenant_labels
from flux_tenancy.components.policies.table import policy_set
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.vocabulary.manifests import Manifest
from tests.support.policy_cases import CONFIGS, RELAXED

KYVERNO_ONLY = PoliciesConfig.model_validate(
    {
        "engine": "both",
        "fluxImages": True,
        "images": {
            "allowed": ["registry.example.com/org/*"],
            "signatures": [
                {
                    "images": ["registry.example.com/org/*"],
                    "keyless": {"issuer": "https://issuer.example.com", "subject": "ci@example.com"},
                }
            ],
        },
        "onboarding": True,
    }
)
CONTROLLER: Manifest = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "source-controller", "namespace": "flux-system"},
    "spec": {"template": {"spec": {"containers": [{"image": "registry.example.com/fluxcd/source-controller:v1.9.5"}]}}},
}


def rendered() -> dict[str, Any]:
    """Messages and digests as the golden file has them: `configuration engine` and what it leads to."""
    more = kyverno_only(KYVERNO_ONLY, TenancyConfig(), flux_config(), [CONTROLLER])
    sets = {
        f"{name} {engine}": policy_set(config, engine, relaxed=RELAXED.get(name, ()))
        for name, config in CONFIGS.items()
        for engine in (PolicyEngine.NATIVE, PolicyEngine.KYVERNO)
    } | {f"all of {PolicyEngine.KYVERNO}": policy_set(KYVERNO_ONLY, PolicyEngine.KYVERNO, more)}
    labels = tenant_labels(PolicyMode.ENFORCE, makes_namespaces=False)
    messages = {"Kyverno alone": _messages(more), "tenants' labels": _messages(labels)}
    said: dict[str, list[str]] = {}
    for name in CONFIGS:
        here = _messages(sets[f"{name} {PolicyEngine.NATIVE}"].manifests)
        # Each configuration with what it changes.
        messages[name] = {policy: texts for policy, texts in here.items() if said.get(policy) != texts}
        said |= here
    digests = {name: found.digest for name, found in sets.items()} | {"tenants' labels": digest_of(labels)}
    return {"digests": digests, "messages": messages}


def _messages(manifests: Iterable[Manifest]) -> dict[str, list[str]]:
    """By the name of the object: why it refuses, where it says so, and its messages."""
    return {
        manifest["metadata"]["name"]: [
            *dict.fromkeys(each["message"] for each in validations if "message" in each),
            *(each["messageExpression"] for each in validations),
        ]
        for manifest in manifests
        if (validations := manifest["spec"].get("validations"))
    }
