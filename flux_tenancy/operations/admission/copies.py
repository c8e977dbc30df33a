"""A copy of an object as somebody would create it: without what the cluster itself has added."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from flux_tenancy.components.vocabulary.manifests import Manifest

_KEPT = ("namespace", "labels", "annotations")
# Labels by which the job controller finds its pods.
_JOB_LABELS = ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name")


def copy_of(manifest: Manifest) -> Manifest:
    """A copy for which the API server generates another name, since the object's own name is taken."""
    copy = as_created(manifest)
    copy["metadata"]["generateName"] = f"{manifest['metadata']['name']}-"
    return copy


def as_created(manifest: Manifest) -> Manifest:
    """The object as somebody would create it, without a name; the object itself is not changed."""
    copy = deepcopy({key: value for key, value in manifest.items() if key not in ("metadata", "status")})
    metadata = manifest["metadata"]
    copy["metadata"] = {key: deepcopy(metadata[key]) for key in _KEPT if key in metadata}
    spec = copy.get("spec")
    if isinstance(spec, dict) and (strip := _STRIP.get(copy["kind"])):
        strip(spec)
    return copy


def _strip_service(spec: dict[str, Any]) -> None:
    # "None" is an input; an address is assigned by the cluster.
    if spec.get("clusterIP") != "None":
        spec.pop("clusterIP", None)
        spec.pop("clusterIPs", None)
    spec.pop("healthCheckNodePort", None)
    for port in spec.get("ports", ()):
        port.pop("nodePort", None)


def _strip_pod(spec: dict[str, Any]) -> None:
    spec.pop("nodeName", None)
    # They can only be added to a running pod.
    spec.pop("ephemeralContainers", None)


def _strip_job(spec: dict[str, Any]) -> None:
    if not spec.get("manualSelector"):
        spec.pop("selector", None)
        labels = spec["template"].get("metadata", {}).get("labels", {})
        for label in _JOB_LABELS:
            labels.pop(label, None)


_STRIP = {
    "Service": _strip_service,
    "Pod": _strip_pod,
    "Job": _strip_job,
}
