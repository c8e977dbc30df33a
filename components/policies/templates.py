"""The templates from which controllers create objects: what a tenant writes there is checked in no other place.

Those controllers belong to Kubernetes or Flux, so policies do not check what they create as a tenant's.
"""

from __future__ import annotations

from collections.abc import Mapping

from components.allowlists.cel import field_of
from components.policies.pods import POD

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
