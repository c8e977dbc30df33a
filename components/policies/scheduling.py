"""Policies about the nodes that a tenant's pods run on, and their drains."""

from __future__ import annotations

from components.allowlists.cel import boolean, joined, text, texts
from components.policies.config import ANY_TAINT, PoliciesConfig
from components.policies.names import PolicyName
from components.policies.pods import POD, PODS, WORKLOADS, of_pod
from components.policies.policy import Policy, Resources, Subject, Validation
from components.policies.rendering import changes
from components.policies.request import ASK

# Kubernetes adds tolerations of these to pods before admission. They open no dedicated nodes.
# Source: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-based-evictions
_USUAL_TAINTS = (
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
)
# Taints of control planes, of drained nodes, and of unhealthy nodes.
_OWN_TAINTS = r"^(node|node-role|node\.cloudprovider)\.kubernetes\.io/"
_HOSTNAME = "kubernetes.io/hostname"
_AFFINITY = "variables.pod.?affinity.?nodeAffinity"


def node_placement(config: PoliciesConfig) -> Policy:
    """The scheduler chooses the nodes of a tenant's pods, among those that tenants may use.

    The DaemonSet controller names nodes and adds tolerations, so the policy checks only what tenants write.
    """
    key = "toleration.?key.orValue('')"
    if config.tolerations is None:
        allowed = f"({key} in {texts(_USUAL_TAINTS)} || ({key} != '' && !{key}.matches({text(_OWN_TAINTS)})))"
        remedy = "name the taint of the nodes that are meant for it, and none of Kubernetes' own"
    else:
        allowed = boolean(True) if ANY_TAINT in config.tolerations else f"({key} in {_listed(config.tolerations)})"
        remedy = f"use one of these: {', '.join(config.tolerations) or 'none'}"
    return Policy(
        name=PolicyName.NODE_PLACEMENT,
        refuses="pods and templates of pods that tolerate every taint, or those of control planes and of nodes that "
        "are being drained, or that choose a node by its name",
        settings=("policies.tolerations", "policies.nodeNames"),
        threats=(41,),
        subject=Subject.TENANTS,
        resources=WORKLOADS,
        conditions={"changes-pods": changes(POD)},
        variables=PODS
        | {
            "tolerated": "variables.pod.?tolerations.orValue([])"
            f".filter(toleration, !{allowed})"
            f".map(toleration, {key} == '' ? 'every taint, by no key' : {key})",
            "terms": f"{_AFFINITY}.?requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([]) + "
            f"{_AFFINITY}.?preferredDuringSchedulingIgnoredDuringExecution.orValue([])"
            ".map(term, term.?preference.orValue({}))",
        },
        validations=(
            Validation(
                "size(variables.tolerated) == 0",
                of_pod("tolerations: ", joined("variables.tolerated"), f" is not allowed; {remedy}", ASK),
            ),
            Validation(
                f"{boolean(config.node_names)} || !({text(_HOSTNAME)} in variables.pod.?nodeSelector.orValue({{}}) || "
                "variables.terms.exists(term, size(term.?matchFields.orValue([])) > 0 || "
                f"term.?matchExpressions.orValue([]).exists(each, each.key == {text(_HOSTNAME)})))",
                of_pod(
                    "nodeSelector or affinity.nodeAffinity",
                    "''",
                    " chooses a node by its name; choose nodes by labels that several have, or spread pods with "
                    "podAntiAffinity or topologySpreadConstraints",
                    ASK,
                ),
            ),
        ),
    )


def disruption_budgets(config: PoliciesConfig) -> Policy:
    """A disruption budget allows at least one eviction, so that the platform can drain nodes."""
    return Policy(
        name=PolicyName.DISRUPTION_BUDGETS,
        refuses="PodDisruptionBudgets that allow no eviction: `maxUnavailable` of 0, `minAvailable` of 100%",
        settings=("policies.blockingDisruptionBudgets",),
        threats=(41,),
        subject=Subject.CONTENT,
        resources=(Resources("policy", ("poddisruptionbudgets",)),),
        validations=(
            Validation(
                f"{boolean(config.blocking_disruption_budgets)} || "
                "!(string(object.spec.?maxUnavailable.orValue('1')).matches('^0+%?$') || "
                "string(object.spec.?minAvailable.orValue('0')).matches('^0*100%$'))",
                text("spec allows no eviction at all, which holds up every drain of a node; let maxUnavailable be 1")
                + f" + {ASK}",
            ),
        ),
    )


def _listed(taints: tuple[str, ...]) -> str:
    return texts((*_USUAL_TAINTS, *taints))
