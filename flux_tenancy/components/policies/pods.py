"""Policies about pods and the templates of pods: service accounts, and what all policies about pods share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import concatenated, field_of, joined, text
from flux_tenancy.components.config.types import seconds
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.policy import Policy, Resources, Subject, Validation
from flux_tenancy.components.policies.request import FLUX_ACCOUNT

if TYPE_CHECKING:
    from flux_tenancy.components.policies.config import PoliciesConfig

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


CLAIMS_OF_VOLUMES = ".filter(volume, has(volume.ephemeral)).map(volume, volume.ephemeral.volumeClaimTemplate)"
"""CEL for the claim templates of a list of volumes."""

# Kubernetes copies labels and finalizers of the pods' template, labels of the others, and a claim template as a whole;
# helm-controller copies the labels of the chart, and source-watcher `commonMetadata`.
# Source: GetPodFromTemplate in pkg/controller/controller_utils.go, getJobFromTemplate2 in pkg/controller/cronjob and
# getPersistentVolumeClaims in pkg/controller/statefulset of Kubernetes 1.36; HelmChartTemplate in api/v2 of
# helm-controller, CommonMetadata in api/v1beta1 of source-watcher
_PATHS = ("spec.template", "spec.jobTemplate", "spec.jobTemplate.spec.template", "spec.chart")
_CLAIMS, _COMMON = "spec.volumeClaimTemplates", "spec.commonMetadata"


def templates(part: str) -> Mapping[str, str]:
    """CEL for lists of all templates in an object, each with `metadata`, by their paths.

    Args:
        part: CEL for the object, `object` or `oldObject`.
    """
    return {
        **{path: f"[?{field_of(part, path)}]" for path in _PATHS},
        f"{_CLAIMS}[]": f"{field_of(part, _CLAIMS)}.orValue([])",
        _COMMON: f"[?{field_of(part, _COMMON)}.optMap(common, {{'metadata': common}})]",
        "volumes[].ephemeral.volumeClaimTemplate": f"{POD.format(object=part)}.?volumes.orValue([]){CLAIMS_OF_VOLUMES}",
    }


# The API server recognizes the tokens that it mounts into every pod by their seven seconds above the hour.
# Source: WarnOnlyBoundTokenExpirationPeriod in pkg/serviceaccount/claims.go of Kubernetes 1.36
_MOUNTED_SECONDS = 3607


def pod_identity(config: PoliciesConfig) -> Policy:
    """No pod runs as the account that Flux impersonates, and no token has a long lifetime.

    A copied token works anywhere until it expires or its pod is gone.
    """
    longest = config.maximum_token_lifetime
    longest_seconds = max(int(seconds(longest)), _MOUNTED_SECONDS)
    expires = "source.?serviceAccountToken.?expirationSeconds.orValue(0)"
    return Policy(
        name=PolicyName.POD_IDENTITY,
        refuses="pods and pod templates that run as the service account that Flux impersonates, or mount tokens that "
        "are valid for longer than the maximum",
        settings=("policies.maximumTokenLifetime",),
        threats=(33,),
        subject=Subject.CONTENT,
        resources=WORKLOADS,
        reads=POD,
        variables=PODS
        | {
            # Kubernetes still accepts the field's old name, `serviceAccount`, if the new one is missing.
            "accounts": "[variables.pod.?serviceAccountName.orValue(''), variables.pod.?serviceAccount.orValue('')]",
            "lasting": "variables.volumes.filter(volume, volume.?projected.?sources.orValue([])"
            f".exists(source, int({expires}) > {longest_seconds})).map(volume, volume.name)",
        },
        validations=(
            Validation(
                f"!({FLUX_ACCOUNT} in variables.accounts)",
                of_pod(
                    "serviceAccountName ",
                    FLUX_ACCOUNT,
                    " is the account that Flux uses to apply everything in this namespace; create a separate "
                    "ServiceAccount for the pods, and ask the platform team for the rights that it needs",
                ),
            ),
            Validation(
                "size(variables.lasting) == 0",
                of_pod(
                    "volumes[].projected.sources[].serviceAccountToken.expirationSeconds of ",
                    joined("variables.lasting"),
                    f" is longer than {longest}, the maximum; shorten it: the kubelet renews the token in time",
                ),
            ),
        ),
    )
