"""Where an object says what its pods are: what every policy about pods and the templates of pods shares."""

from __future__ import annotations

from components.allowlists.cel import concatenated, text
from components.policies.policy import Resources

_LEVEL = "pod-security.kubernetes.io/enforce"
LEVEL = f"namespaceObject.metadata.?labels[?{text(_LEVEL)}].orValue('restricted')"
"""CEL for the Pod Security level of the request's namespace; without a label nothing else looks at pods."""

WORKLOADS = (
    Resources("", ("pods", "pods/ephemeralcontainers", "replicationcontrollers")),
    Resources("apps", ("daemonsets", "deployments", "replicasets", "statefulsets")),
    Resources("batch", ("cronjobs", "jobs")),
)
"""Pods, and all that Kubernetes makes pods of. Their own controllers write to these all the time, so that the policies
look at an object only when the pods that it describes change."""

POD = (
    "({object}.kind == 'Pod' ? {object}.?spec : {object}.kind == 'CronJob' "
    "? {object}.?spec.?jobTemplate.?spec.?template.?spec : {object}.?spec.?template.?spec)"
)
"""CEL for the pods that one of WORKLOADS describes, as in `Policy.reads`: an optional PodSpec."""

PODS = {
    "path": "object.kind == 'Pod' ? 'spec.' : object.kind == 'CronJob' ? 'spec.jobTemplate.spec.template.spec.' "
    ": 'spec.template.spec.'",
    "pod": f"{POD.format(object='object')}.orValue({{}})",
    "containers": "variables.pod.?containers.orValue([]) + variables.pod.?initContainers.orValue([]) "
    "+ variables.pod.?ephemeralContainers.orValue([])",
    "volumes": "variables.pod.?volumes.orValue([])",
}
"""Variables of a policy: the PodSpec, empty where there is none, the path to it, and what is in it."""


def of_pod(field: str, value: str, rest: str, *more: str) -> str:
    """A message about a field of a pod or of the template of pods."""
    return concatenated("variables.path", text(field), value, text(rest), *more)
