"""What reaches admission when Flux applies an object: the object with its owner, and what controllers make of it."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

from flux_tenancy.components.vocabulary.manifests import Manifest, merge_patch

# What the admission plugins ServiceAccount and DefaultStorageClass set.
_SET = {"Pod": {"serviceAccountName": "default"}, "PersistentVolumeClaim": {"storageClassName": "default"}}


def owner(applied: Manifest) -> Manifest:
    """The entry of a manager in `metadata.managedFields` after it has applied this."""
    # What identifies the object has no owner.
    metadata = {key: value for key, value in applied["metadata"].items() if key not in ("name", "namespace")}
    owned = {key: value for key, value in applied.items() if key not in ("apiVersion", "kind")} | {"metadata": metadata}
    return {
        "manager": "tenant",
        "operation": "Apply",
        "apiVersion": applied["apiVersion"],
        "fieldsType": "FieldsV1",
        "fieldsV1": _fields(owned),
    }


def as_applied(manifest: Manifest) -> Manifest:
    """The object as admission sees it. What SOPS has encrypted stays sealed, so its entries are left out."""
    applied = merge_patch({"metadata": {"name": "made"}}, manifest)
    if applied.pop("sops", None) is not None:
        applied = {key: value for key, value in applied.items() if key not in ("data", "stringData")}
    specs = {"spec": _SET[manifest["kind"]]} if manifest["kind"] in _SET else {}
    complete: Manifest = merge_patch(specs, merge_patch(applied, {"metadata": {"managedFields": [owner(applied)]}}))
    return complete


def made_by_controllers(manifest: Manifest) -> Iterator[tuple[Manifest, int]]:
    """The Pods of a workload and the claims of a StatefulSet, each with how many there are."""
    kind, spec = manifest["kind"], manifest.get("spec") or {}
    if kind == "CronJob":
        spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    if kind not in ("CronJob", "DaemonSet", "Deployment", "Job", "StatefulSet") or "template" not in spec:
        return
    # On how many nodes a DaemonSet runs is not known.
    count = spec.get("parallelism" if kind in ("CronJob", "Job") else "replicas", 1)
    if not isinstance(count, int) or count < 1:
        return
    namespace = manifest["metadata"].get("namespace")
    at = {"namespace": namespace} if namespace else {}
    pod = merge_patch(deepcopy(spec["template"]), {"apiVersion": "v1", "kind": "Pod", "metadata": at})
    volumes = []
    for each in spec.get("volumeClaimTemplates") or ():
        name = f"{each['metadata']['name']}-made-0"
        volumes.append({"name": each["metadata"]["name"], "persistentVolumeClaim": {"claimName": name}})
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": at | {"name": name}}
        yield as_applied(merge_patch(each, claim)), count
    if volumes:
        pod["spec"]["volumes"] = [*pod["spec"].get("volumes", []), *volumes]
    yield as_applied(pod), count


def _fields(value: object) -> Manifest:
    return {f"f:{key}": _fields(child) for key, child in value.items()} if isinstance(value, dict) else {}
