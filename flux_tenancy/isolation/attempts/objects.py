"""Manifests for attempts: each as a tenant would write it, and in order except for what is attempted."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.tenant.annotations import EXCEPTIONS
from flux_tenancy.components.vocabulary.manifests import RBAC, Manifest
from flux_tenancy.isolation.scene import Scene

NAME = "isolation-suite"
"""The name of every object that the suite tries to create."""
UNKNOWN_HOST = "isolation.example.com"
"""A host that nobody owns (RFC 2606)."""
COPIED = {"from": "@source/*", "to": "@artifact/"}
"""What an ArtifactGenerator copies."""
_RESOURCES = {"cpu": "10m", "memory": "16Mi", "ephemeral-storage": "16Mi"}


def made(scene: Scene, kind: str, spec: Manifest | None = None, *, namespace: str = "", **rest: Any) -> Manifest:
    """An object; its API version is empty if the cluster does not serve the kind."""
    served = scene.kinds.get(kind)
    metadata = {"name": NAME, "namespace": namespace or scene.tenancy.home} | rest.pop("metadata", {})
    manifest: Manifest = {"apiVersion": served.api_version if served else "", "kind": kind, "metadata": metadata}
    return manifest | ({} if spec is None else {"spec": deepcopy(spec)}) | rest


def named(scene: Scene, kind: str, name: str, namespace: str = "") -> Manifest:
    """The identity of an object."""
    return made(scene, kind, namespace=namespace, metadata={"name": name})


def changed(manifest: Manifest, spec: Manifest) -> Manifest:
    """An object with other top-level fields in its spec; None removes a field."""
    fields = {key: value for key, value in (manifest.get("spec", {}) | spec).items() if value is not None}
    return {**manifest, "spec": fields}


def excepted(scene: Scene, policy: PolicyName) -> str:
    """That a grant excepts the tenant's objects from a policy, whatever their names; empty if none does."""
    entries = (scene.namespace["metadata"].get("annotations") or {}).get(EXCEPTIONS, "").split()
    return f"a grant of the tenant is an exception from {policy}" if policy in entries else ""


# ---- what runs ----


def container(scene: Scene, **fields: Any) -> Manifest:
    """A container that meets the Pod Security Standard `restricted`, with requests and limits."""
    security = {"runAsUser": 1000, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    resources = {"requests": _RESOURCES, "limits": _RESOURCES}
    return {"name": "main", "image": scene.image, "securityContext": security, "resources": resources} | fields


def pod_spec(scene: Scene, **fields: Any) -> Manifest:
    security = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    spec = {"automountServiceAccountToken": False, "securityContext": security, "containers": [container(scene)]}
    return spec | fields


def pod(scene: Scene, **fields: Any) -> Manifest:
    return made(scene, "Pod", pod_spec(scene, **fields))


def deployment(scene: Scene, **fields: Any) -> Manifest:
    return workload(scene, "Deployment", pod_spec(scene, **fields))


def workload(scene: Scene, kind: str, pods: Manifest) -> Manifest:
    """A workload without pods, where its kind allows that."""
    labels = {"app": NAME}
    template = {"metadata": {"labels": labels}, "spec": pods}
    if kind == "CronJob":
        job = {"template": {"spec": pods | {"restartPolicy": "Never"}}}
        return made(scene, kind, {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": {"spec": job}})
    if kind == "Job":
        return made(scene, kind, {"suspend": True, "template": {"spec": pods | {"restartPolicy": "Never"}}})
    spec: Manifest = {"selector": {"matchLabels": labels}, "template": template}
    if kind == "StatefulSet":
        spec["serviceName"] = NAME
    if kind != "DaemonSet":
        spec["replicas"] = 0
    return made(scene, kind, spec)


def service(scene: Scene, **fields: Any) -> Manifest:
    return made(scene, "Service", {"selector": {"app": NAME}, "ports": [{"port": 80}]} | fields)


def claim_spec(scene: Scene, **fields: Any) -> Manifest:
    """A volume claim of a class with dynamic provisioning, if the cluster has one."""
    dynamic = [each for each in scene.storage_classes if each.get("provisioner") != "kubernetes.io/no-provisioner"]
    of_class = {"storageClassName": dynamic[0]["metadata"]["name"]} if dynamic else {}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}} | of_class | fields
    return {key: value for key, value in spec.items() if value is not None}


def claim(scene: Scene, **fields: Any) -> Manifest:
    return made(scene, "PersistentVolumeClaim", claim_spec(scene, **fields))


# ---- Flux's objects ----


def own_source(scene: Scene) -> tuple[str, str]:
    """Kind and name of the tenant's own source."""
    for sync in scene.of_home("Kustomization"):
        reference = sync["spec"]["sourceRef"]
        if reference.get("namespace", scene.tenancy.home) == scene.tenancy.home:
            return reference["kind"], reference["name"]
    sources = scene.of_home("GitRepository")
    return "GitRepository", sources[0]["metadata"]["name"] if sources else NAME


def git_repository(scene: Scene, **fields: Any) -> Manifest:
    """A source like the tenant's own; suspended, so Flux would not fetch it."""
    sources = scene.of_home("GitRepository")
    own = deepcopy(sources[0]["spec"]) if sources else {"url": f"https://{UNKNOWN_HOST}/apps", "interval": "1h"}
    return changed(made(scene, "GitRepository", own), {"suspend": True, **fields})


def source(scene: Scene, kind: str, **fields: Any) -> Manifest:
    """A source of another kind, from a host that nobody owns."""
    places: dict[str, Manifest] = {
        "OCIRepository": {"url": f"oci://{UNKNOWN_HOST}/apps/app"},
        "HelmRepository": {"url": f"https://{UNKNOWN_HOST}/charts"},
        "Bucket": {"endpoint": UNKNOWN_HOST, "bucketName": "apps"},
        "ImageRepository": {"image": f"{UNKNOWN_HOST}/apps/app"},
    }
    return made(scene, kind, {"interval": "1h", "suspend": True} | places[kind] | fields)


def kustomization(scene: Scene, **fields: Any) -> Manifest:
    """A sync of the tenant's own source; suspended, and without pruning."""
    kind, name = own_source(scene)
    spec = {
        "interval": "1h",
        "suspend": True,
        "prune": False,
        "path": "./isolation-suite",
        "serviceAccountName": scene.tenancy.account,
        "sourceRef": {"kind": kind, "name": name},
    }
    return changed(made(scene, "Kustomization", spec), fields)


def chart(**fields: Any) -> Manifest:
    """The `chart` of a HelmRelease."""
    return {"spec": {"chart": "app", "interval": "1h", "sourceRef": {"kind": "HelmRepository", "name": NAME}} | fields}


def helm_release(scene: Scene, **fields: Any) -> Manifest:
    spec = {"interval": "1h", "suspend": True, "serviceAccountName": scene.tenancy.account, "chart": chart()}
    return changed(made(scene, "HelmRelease", spec), fields)


def artifact_generator(scene: Scene, **fields: Any) -> Manifest:
    """A generator that copies a source which does not exist."""
    spec = {
        "sources": [{"alias": "source", "kind": "GitRepository", "name": NAME}],
        "artifacts": [{"name": NAME, "copy": [COPIED]}],
    }
    return changed(made(scene, "ArtifactGenerator", spec), fields)


def receiver(scene: Scene, **fields: Any) -> Manifest:
    kind, name = own_source(scene)
    resources = [{"kind": kind, "name": name}]
    spec = {"type": "generic", "suspend": True, "secretRef": {"name": NAME}, "resources": resources}
    return changed(made(scene, "Receiver", spec), fields)


def provider(scene: Scene, **fields: Any) -> Manifest:
    spec = {"type": "generic", "suspend": True, "address": f"https://{UNKNOWN_HOST}/"}
    return changed(made(scene, "Provider", spec), fields)


# ---- access ----


def account(name: str, namespace: str) -> Manifest:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def person(kind: str, name: str) -> Manifest:
    return {"apiGroup": RBAC, "kind": kind, "name": name}


def role_binding(scene: Scene, role: str, subjects: Sequence[Manifest]) -> Manifest:
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
    return made(scene, "RoleBinding", roleRef=reference, subjects=list(subjects))
