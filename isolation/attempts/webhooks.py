"""Attempts while one of those that judge requests does not: a webhook that is down, an engine in Audit (threat 23)."""

from __future__ import annotations

from collections.abc import Iterator

from components.policies.config import PolicyEngine, PolicyMode
from isolation.attempts.looking import selects
from isolation.model import Attempt, Finding, Layer, State
from isolation.scene import Scene

_GROUPS = ("kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io", "source.toolkit.fluxcd.io")


def webhooks(scene: Scene) -> Iterator[Attempt]:
    yield Attempt("23-webhook-down", 23, "any attempt while the admission webhook is down", (_while_down(scene),))

    for engine in dict.fromkeys(each.engine for each in scene.policies):
        yield _alone(scene, engine)


def _alone(scene: Scene, engine: PolicyEngine) -> Attempt:
    """Whether all policies of an engine refuse; where another engine has them, too, nothing else would show it."""
    own = [each for each in scene.policies if each.engine is engine]
    audited = [each.policy for each in own if each.mode is PolicyMode.AUDIT]
    said = f"{len(own)} policies, all of which deny"
    finding = Finding(Layer.ADMISSION, State.HOLDS, said, engine.value)
    if audited:
        finding = Finding(Layer.ADMISSION, State.OPEN, f"in Audit: {', '.join(audited)}")
    return Attempt(
        f"23-{engine.value}-alone",
        23,
        f"what the policies refuse, as {engine.value} alone judges it",
        (finding,),
        by_choice="" if set(audited) - set(scene.audited) else f"the stack has in audit: {', '.join(audited)}",
    )


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
