"""The policies of this project in a cluster, by engine and mode, as the cluster itself reports them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubernetes import client

from flux_tenancy.components.cluster.client import items
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.policies.config import PoliciesConfig, PolicyEngine, PolicyMode
from flux_tenancy.components.policies.policy import Policy, PolicyName
from flux_tenancy.components.policies.rendering import KYVERNO_API, POLICIES
from flux_tenancy.components.policies.table import is_of
from flux_tenancy.components.vocabulary.manifests import Manifest, selects
from flux_tenancy.project.errors import OperationError

_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_KYVERNO_WEBHOOK = "vpol.validate.kyverno.svc"


@dataclass(frozen=True, order=True)
class PolicyInForce:
    """A policy that an engine of the cluster evaluates.

    Attributes:
        engine: who evaluates it.
        mode: what happens to a request that it refuses.
        spec: of the policy, with what its binding selects.
    """

    policy: PolicyName
    engine: PolicyEngine
    mode: PolicyMode
    spec: Manifest = field(default_factory=dict, compare=False, repr=False)


def policies_in_force(api: client.ApiClient) -> list[PolicyInForce]:
    """The policies that are evaluated for a request in this cluster.

    Raises:
        ApiException: the API server refuses to list them.
    """
    return sorted([*_native(api), *_kyverno(api)])


def webhooks_for(labels: Mapping[str, str], configurations: Iterable[Manifest]) -> list[Manifest]:
    """The webhooks that select a namespace with these labels."""
    return [
        webhook
        for configuration in configurations
        for webhook in configuration.get("webhooks") or ()
        if selects(webhook.get("namespaceSelector", {}), labels)
    ]


def failing_open(webhooks: Iterable[Manifest]) -> str:
    """Says which webhooks need not answer; empty if all must."""
    names = sorted(each["name"] for each in webhooks if each.get("failurePolicy") == "Ignore")
    return f"{', '.join(names)} fails open" if names else ""


def check_in_force(
    stack_file: str, config: PoliciesConfig, content: Sequence[Policy], in_force: Sequence[PolicyInForce]
) -> None:
    """Check that the cluster has all policies of the stack: without them, no objection would mean nothing."""
    if config.engine is PolicyEngine.NONE:
        raise OperationError(
            Message(
                "FT-OPS-043",
                f"{stack_file} has no policies: policies.engine is none",
                "choose an engine with `policies.mode: audit`, and run `pulumi up`",
            )
        )
    there = {(each.policy, each.engine) for each in in_force}
    on = [policy for policy in content if config.mode_of(policy.name) is not PolicyMode.OFF]
    engines = [PolicyEngine.NATIVE, *([PolicyEngine.KYVERNO] if config.engine.kyverno else [])]
    asked = {engine: [each.name for each in on if is_of(each, engine, config.engine)] for engine in engines}
    missing = {engine: [name for name in names if (name, engine) not in there] for engine, names in asked.items()}
    lacks = [
        f"{engine}: {'all' if names == asked[engine] else ', '.join(names)}"
        for engine, names in missing.items()
        if names
    ]
    if lacks:
        raise OperationError(
            Message(
                "FT-OPS-044",
                f"the cluster lacks policies of {stack_file} ({'; '.join(lacks)})",
                "run `pulumi up` first; for Kyverno's, check with `kubectl get pods -n kyverno` that it runs",
            )
        )


def _native(api: client.ApiClient) -> Iterator[PolicyInForce]:
    there = {
        each["metadata"]["name"]: each.get("spec", {})
        for each in items(api, f"{_ADMISSION}/validatingadmissionpolicies")
    }
    for binding in items(api, f"{_ADMISSION}/validatingadmissionpolicybindings"):
        name = binding["spec"]["policyName"]
        if name in there and name in POLICIES:
            bound = {"matchResources": binding["spec"].get("matchResources")}
            yield PolicyInForce(POLICIES[name], PolicyEngine.NATIVE, _mode(binding["spec"]), there[name] | bound)


def _kyverno(api: client.ApiClient) -> Iterator[PolicyInForce]:
    """Kyverno's policies are in force only while its webhooks are registered."""
    webhooks = [
        webhook["name"]
        for configuration in items(api, f"{_ADMISSION}/validatingwebhookconfigurations")
        for webhook in configuration.get("webhooks", ())
    ]
    if not any(name.startswith(_KYVERNO_WEBHOOK) for name in webhooks):
        return
    for policy in items(api, f"/apis/{KYVERNO_API}/validatingpolicies"):
        name = policy["metadata"]["name"]
        if name in POLICIES and _reaches_a_webhook(policy):
            yield PolicyInForce(POLICIES[name], PolicyEngine.KYVERNO, _mode(policy["spec"]), policy["spec"])


def _reaches_a_webhook(policy: dict[str, Any]) -> bool:
    conditions = policy.get("status", {}).get("conditionStatus", {}).get("conditions", ())
    return any(each["type"] == "WebhookConfigured" and each["status"] == "True" for each in conditions)


def _mode(spec: dict[str, Any]) -> PolicyMode:
    return PolicyMode.ENFORCE if "Deny" in spec.get("validationActions", ()) else PolicyMode.AUDIT
