"""Policies about where a tenant's pods run: nodes, taints, affinity to other pods, and disruption budgets."""

from __future__ import annotations

from flux_tenancy.components.allowlists.cel import boolean, concatenated, joined, text, texts
from flux_tenancy.components.policies.config import ANY_TAINT, OWN_TAINTS, USUAL_TAINTS, PoliciesConfig
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.pods import POD, PODS, WORKLOADS, of_pod
from flux_tenancy.components.policies.policy import Policy, Resources, Subject, Validation
from flux_tenancy.components.policies.rendering import changes
from flux_tenancy.components.policies.request import ASK, OWN_NAMESPACES, is_own

_HOSTNAME = "kubernetes.io/hostname"
_AFFINITY = "variables.pod.?affinity.?nodeAffinity"
# A required term keeps pods of the namespaces that it names from nodes and zones, and a preferred one ranks them lower.
# Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#namespace-selector
_POD_TERMS = " + ".join(
    f"variables.pod.?affinity.?{kind}.?{when}.orValue([]){term}"
    for kind in ("podAffinity", "podAntiAffinity")
    for when, term in (
        ("requiredDuringSchedulingIgnoredDuringExecution", ""),
        ("preferredDuringSchedulingIgnoredDuringExecution", ".map(each, each.podAffinityTerm)"),
    )
)
_UNAVAILABLE = r"^0*[1-9][0-9]*%?$"
_AVAILABLE = r"^(0*[01]|0*([0-9]|[1-4][0-9]|50)%)$"


def node_placement(config: PoliciesConfig, *, makes_namespaces: bool = False) -> Policy:
    """The scheduler chooses the nodes of a tenant's pods among those that tenants may use, whatever other tenants run.

    The DaemonSet controller names nodes and adds tolerations, so the policy checks only what tenants write.

    Args:
        config: the stack's policies.
        makes_namespaces: whether tenants make namespaces.
    """
    key = "toleration.?key.orValue('')"
    own = is_own("name", "variables.own", makes_namespaces=makes_namespaces)
    if config.tolerations is None:
        allowed = f"({key} in {texts(USUAL_TAINTS)} || ({key} != '' && !{key}.matches({text(OWN_TAINTS)})))"
        remedy = "tolerate by key, and only taints of nodes that are meant for your pods, not Kubernetes' own taints"
    else:
        allowed = boolean(True) if ANY_TAINT in config.tolerations else f"({key} in {_listed(config.tolerations)})"
        remedy = f"allowed taints: {', '.join(config.tolerations) or 'none'}"
    return Policy(
        name=PolicyName.NODE_PLACEMENT,
        refuses="pods and pod templates that tolerate every taint, or the taints of control planes and of nodes that "
        "are being drained, that select a node by name, or whose pod affinity covers namespaces of other tenants",
        settings=("policies.tolerations", "policies.nodeNames"),
        threats=(41, 48),
        subject=Subject.TENANTS,
        resources=WORKLOADS,
        conditions={"changes-pods": changes(POD)},
        variables=PODS
        | {
            "tolerated": "variables.pod.?tolerations.orValue([])"
            f".filter(toleration, !{allowed})"
            f".map(toleration, {key} == '' ? 'every taint (no key)' : {key})",
            "terms": f"{_AFFINITY}.?requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([]) + "
            f"{_AFFINITY}.?preferredDuringSchedulingIgnoredDuringExecution.orValue([])"
            ".map(term, term.?preference.orValue({}))",
            "own": OWN_NAMESPACES,
            "elsewhere": f"({_POD_TERMS}).map(term, (has(term.namespaceSelector) ? ['namespaceSelector'] : []) + "
            f"term.?namespaces.orValue([]).filter(name, !({own}))).map(found, found.join(', '))"
            ".filter(found, found != '')",
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
                    " selects a node by its name; select nodes by labels that several nodes share, or spread pods with "
                    "podAntiAffinity or topologySpreadConstraints",
                    ASK,
                ),
            ),
            Validation(
                "size(variables.elsewhere) == 0",
                of_pod(
                    "affinity.podAffinity or podAntiAffinity: ",
                    joined("variables.elsewhere"),
                    " selects pods of other tenants, and could prevent their scheduling; remove it, or list only "
                    "these namespaces: ",
                    joined("variables.own"),
                    ASK,
                ),
            ),
        ),
    )


def disruption_budgets(config: PoliciesConfig) -> Policy:
    """A disruption budget allows evictions, so that the platform can drain nodes.

    A budget does not say how many pods it covers, so the policy lists values that allow evictions whatever the number
    of pods, and in addition the one that many charts have: `minAvailable: 1`.
    """
    return Policy(
        name=PolicyName.DISRUPTION_BUDGETS,
        refuses="PodDisruptionBudgets other than `maxUnavailable` of 1 or more, `minAvailable` of 1, or of 50% or less",
        settings=("policies.blockingDisruptionBudgets",),
        threats=(41, 48),
        subject=Subject.CONTENT,
        resources=(Resources("policy", ("poddisruptionbudgets",)),),
        validations=(
            Validation(
                f"{boolean(config.blocking_disruption_budgets)} || "
                f"(string(object.spec.?maxUnavailable.orValue('1')).matches({text(_UNAVAILABLE)}) && "
                f"string(object.spec.?minAvailable.orValue('0')).matches({text(_AVAILABLE)}))",
                concatenated(
                    text(
                        "the budget may allow no eviction, which would block node drains; set spec.maxUnavailable to "
                        "at least 1, or spec.minAvailable to 1 or to at most 50%"
                    ),
                    ASK,
                ),
            ),
        ),
    )


def _listed(taints: tuple[str, ...]) -> str:
    return texts((*USUAL_TAINTS, *taints))
