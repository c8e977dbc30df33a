"""What all policies about pods and pod templates share: resources, and CEL for the PodSpec."""

from __future__ import annotations

from components.allowlists.cel import concatenated, text
from components.policies.policy import Resources

_LEVEL = "pod-security.kubernetes.io/enforce"
LEVEL = f"namespaceObject.metadata.?labels[?{text(_LEVEL)}].orValue('restricted')"
"""CEL for the Pod Security level of the request's namespace; `restricted` without a label."""

WORKLOADS = (
    Resources("", ("pods", "pods/ephemeralcontainers", "replicationcontrollers")),
    Resources("apps", ("daemonsets", "deployments", "replicasets", "statefulsets")),
    Resources("batch", ("cronjobs", "jobs")),
)
"""Pods and workloads with pod templates. Controllers write to these all the time, so policies check an object only when
its PodSpec changes."""

POD = (
    "({object}.kind == 'Pod' ? {object}.?spec : {object}.kind == 'CronJob' "
    "? {object}.?spec.?jobTemplate.?spec.?template.?spec : {object}.?spec.?template.?spec)"
)
"""CEL for the PodSpec of one of WORKLOADS, as in `Policy.reads`: an optional value."""

PODS = {
    "path": "object.kind == 'Pod' ? 'spec.' : object.kind == 'CronJob' ? 'spec.jobTemplate.spec.template.spec.' "
    ": 'spec.template.spec.'",
    "pod": f"{POD.format(object='object')}.orValue({{}})",
    "containers": "variables.pod.?containers.orValue([]) + variables.pod.?initContainers.orValue([]) "
    "+ variables.pod.?ephemeralContainers.orValue([])",
    "volumes": "variables.pod.?volumes.orValue([])",
}
"""Variables of a policy: the PodSpec (empty if missing), the path to it, its containers and its volumes."""


def of_pod(field: str, value: str, rest: str, *more: str) -> str:
    """A message about a field of a pod or a pod template."""
    return concatenated("variables.path", text(field), value, text(rest), *more)
