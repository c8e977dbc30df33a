"""Controls: what tenants are for, and what the cluster itself needs, must pass."""

from __future__ import annotations

from collections.abc import Iterator

from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import Controller
from flux_tenancy.isolation.attempts.objects import (
    NAME,
    claim,
    deployment,
    git_repository,
    helm_release,
    kustomization,
    made,
    named,
    pod,
    pod_spec,
    service,
    workload,
)
from flux_tenancy.isolation.choices import Layer
from flux_tenancy.isolation.kinds import RESOURCES
from flux_tenancy.isolation.model import Access, Control, Request
from flux_tenancy.isolation.scene import Scene

_REPLICASETS = "system:serviceaccount:kube-system:replicaset-controller"
_READ = ("ResourceQuota", "NetworkPolicy", "RoleBinding")


def controls(scene: Scene) -> Iterator[Control]:
    """All controls."""
    yield from _tenants(scene)
    yield from _clusters(scene)


def _tenants(scene: Scene) -> Iterator[Control]:
    spec = pod_spec(scene)
    budget = {"selector": {"matchLabels": {"app": NAME}}, "maxUnavailable": 1}
    scale = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": NAME},
        "minReplicas": 1,
        "maxReplicas": 2,
    }
    objects = [
        made(scene, "ConfigMap", data={"a": "b"}),
        made(scene, "Secret", stringData={"a": "b"}),
        made(scene, "ServiceAccount"),
        service(scene),
        service(scene, clusterIP="None"),
        pod(scene),
        deployment(scene),
        *(workload(scene, kind, spec) for kind in ("StatefulSet", "DaemonSet", "Job", "CronJob")),
        made(scene, "PodDisruptionBudget", budget),
        made(scene, "HorizontalPodAutoscaler", scale),
        git_repository(scene),
        kustomization(scene),
        kustomization(scene, targetNamespace=scene.tenancy.home, timeout="3m"),
        helm_release(scene),
    ]
    if scene.storage_classes:
        objects.append(claim(scene))
    seen: dict[str, int] = {}
    for manifest in objects:
        kind = manifest["kind"]
        seen[kind] = seen.get(kind, 0) + 1
        number = f"-{seen[kind]}" if seen[kind] > 1 else ""
        layers = tuple(Layer)
        yield Control(f"tenant-{kind.lower()}{number}", f"the tenant creates a {kind}", Request(manifest, layers))
    for kind in _READ:
        group, resource = RESOURCES[kind]
        yield Control(
            f"tenant-reads-{resource}",
            f"the tenant lists {resource}",
            Access("list", group, resource, scene.tenancy.home),
        )


def _clusters(scene: Scene) -> Iterator[Control]:
    """Kubernetes' and Flux's own controllers, and kubelets."""
    yield Control(
        "cluster-replicaset",
        "Kubernetes creates the pods of a Deployment",
        Request(pod(scene), tuple(Layer), user=_REPLICASETS),
    )
    placed = [each for each in scene.of_home("Pod") if each["spec"].get("nodeName")]
    for running in sorted(placed, key=_mounts_token, reverse=True)[:1]:
        node = f"system:node:{running['spec']['nodeName']}"
        name, uid = running["metadata"]["name"], running["metadata"]["uid"]
        account = running["spec"].get("serviceAccountName", "default")
        bound = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}
        token = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"audiences": [], "expirationSeconds": 3607, "boundObjectRef": bound},
        }
        # A node gets tokens only for the audiences that the pod itself asks for.
        if _mounts_token(running):
            yield Control(
                "kubelet-token",
                "a kubelet requests the token of a pod on its node",
                Request(named(scene, "ServiceAccount", account), tuple(Layer), "create", "token", token, user=node),
            )
        yield Control(
            "kubelet-status",
            "a kubelet writes the status of a pod on its node",
            Request(
                named(scene, "Pod", name),
                tuple(Layer),
                "patch",
                "status",
                {"status": {"phase": running.get("status", {}).get("phase", "Running")}},
                user=node,
            ),
        )
    for controller in (Controller.KUSTOMIZE, Controller.HELM):
        if user := scene.controller_user(controller):
            yield Control(
                f"{controller}-impersonates",
                f"{controller} impersonates the tenant's account",
                Access(
                    "impersonate",
                    "",
                    "serviceaccounts",
                    scene.tenancy.home,
                    name=scene.tenancy.account,
                    user=user,
                ),
            )
            group, resource = RESOURCES["Kustomization" if controller is Controller.KUSTOMIZE else "HelmRelease"]
            yield Control(
                f"{controller}-status",
                f"{controller} writes the status of its objects",
                Access("patch", group, resource, scene.tenancy.home, "status", user=user),
            )


def _mounts_token(running: Manifest) -> bool:
    """Whether a pod has a token for the API server itself."""
    return any(
        "serviceAccountToken" in source and not source["serviceAccountToken"].get("audience")
        for volume in running["spec"].get("volumes", ())
        for source in volume.get("projected", {}).get("sources", ())
    )
