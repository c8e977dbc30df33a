"""Attempts while one of those that judge requests does not: a webhook that is down, an engine in Audit (threat 23)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from flux_tenancy.components.policies.config import PoliciesConfig, PolicyEngine, PolicyMode
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.table import policies
from flux_tenancy.components.vocabulary.manifests import Manifest, selects
from flux_tenancy.isolation.choices import Layer
from flux_tenancy.isolation.model import Attempt, Finding, State
from flux_tenancy.isolation.scene import Scene
from flux_tenancy.operations.admission.policies import PolicyInForce

_SELECTING = ("excludeResourceRules", "namespaceSelector", "objectSelector")
# What a validation that depends on the request reads, and one that refuses all.
_READ, _NEVER = ("object", "request", "variables"), "false"
_GROUPS = ("kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io", "source.toolkit.fluxcd.io")


def webhooks(scene: Scene) -> Iterator[Attempt]:
    yield Attempt(
        "23-webhook-down", 23, "any attempt while the admission webhook does not answer", (_while_down(scene),)
    )

    # Some only Kyverno offers, and some only Kubernetes enforces.
    shared = {each.name for each in policies(PoliciesConfig()) if not each.native_only}
    engines = dict.fromkeys(each.engine for each in scene.policies if each.policy in shared)
    there = {(each.policy, each.engine) for each in scene.policies}
    for policy in dict.fromkeys(each.policy for each in scene.policies):
        for engine in PolicyEngine:
            if (policy in shared and engine in engines) or (policy, engine) in there:
                yield _alone(scene, policy, engine)


def _alone(scene: Scene, policy: PolicyName, engine: PolicyEngine) -> Attempt:
    """Whether a policy refuses in one engine; where another engine has it, too, nothing else would show it."""
    by_engine = {each.engine: each for each in scene.policies if each.policy is policy}
    own = by_engine.pop(engine, None)
    said, audited = _weakness(own, [*by_engine.values()]), own is not None and own.mode is PolicyMode.AUDIT
    if said or audited:
        found = Finding(Layer.ADMISSION, State.OPEN, said or "it is in Audit")
    else:
        found = Finding(
            Layer.ADMISSION, State.HOLDS, "it denies, and is as strict as in the other engine", engine.value
        )
    return Attempt(
        f"23-{engine.value}-{policy.value}",
        23,
        f"requests against {policy.value}, as only {engine.value} evaluates it",
        (found,),
        by_choice="the stack sets it to audit" if audited and not said and policy in scene.audited else "",
    )


def _weakness(own: PolicyInForce | None, others: Sequence[PolicyInForce]) -> str:
    """What makes a policy weaker than in the other engines; empty if nothing does."""
    if own is None:
        return f"only {' and '.join(each.engine for each in others)} has it"
    return _empty(own.spec) or next(filter(None, (_weaker(own.spec, each.spec) for each in others)), "")


def _weaker(own: Manifest, other: Manifest) -> str:
    """What a policy in one engine lets pass that the same one in another refuses; empty if it is as strict.

    Both are rendered from the same rules, conditions and validations (`components.policies.rendering`). A policy that
    refuses nothing is no measure for another one.
    """
    if _empty(other):
        return ""
    if missing := _rules(other) - _rules(own):
        return f"rules of another engine are missing: {len(missing)}"
    if missing := _validations(other) - _validations(own):
        return f"validations of another engine are missing: {len(missing)}"
    if further := _exempting(own) - _exempting(other):
        return f"conditions that another engine lacks: {len(further)}"
    return ""


def _empty(spec: Manifest) -> str:
    """Why a policy refuses nothing at all; empty if it may refuse something."""
    if not _rules(spec):
        return "it has no rules"
    if not any(expression == _NEVER or any(each in expression for each in _READ) for expression in _validations(spec)):
        return "it has no validations that can fail"
    return ""


def _rules(spec: Manifest) -> set[str]:
    return {_text(each) for each in spec.get("matchConstraints", {}).get("resourceRules") or ()}


def _validations(spec: Manifest) -> set[str]:
    return {each["expression"] for each in spec.get("validations") or ()}


def _exempting(spec: Manifest) -> set[str]:
    """All that keeps a policy from judging a request that its rules name."""
    constraints = {key: value for key, value in spec.get("matchConstraints", {}).items() if key in _SELECTING and value}
    return {
        *(each["expression"] for each in spec.get("matchConditions") or ()),
        *(f"{key}: {_text(value)}" for key, value in constraints.items()),
        *([_text(spec["matchResources"])] if spec.get("matchResources") else []),
        *(["failurePolicy: Ignore"] if spec.get("failurePolicy") == "Ignore" else []),
    }


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _while_down(scene: Scene) -> Finding:
    """Whether every webhook that looks at Flux's objects in the tenant's namespace fails closed."""
    labels = scene.namespace["metadata"].get("labels", {})
    asked = [
        webhook
        for configuration in scene.webhooks
        for webhook in configuration.get("webhooks", ())
        if selects(webhook.get("namespaceSelector", {}), labels)
        and any(set(rule.get("apiGroups", ())) & {"*", *_GROUPS} for rule in webhook.get("rules", ()))
    ]
    open_ones = [webhook["name"] for webhook in asked if webhook.get("failurePolicy") == "Ignore"]
    if open_ones:
        return Finding(Layer.ADMISSION, State.OPEN, f"{', '.join(sorted(open_ones))} fails open")
    if asked:
        return Finding(Layer.ADMISSION, State.HOLDS, f"{asked[0]['name']} fails closed", asked[0]["name"])
    if scene.admission_policies:
        return Finding(
            Layer.ADMISSION, State.HOLDS, "ValidatingAdmissionPolicies need no webhook", "ValidatingAdmissionPolicy"
        )
    return Finding(Layer.ADMISSION, State.NOT_APPLICABLE, "no admission policy or webhook applies to Flux's objects")
