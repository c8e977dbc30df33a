"""Controls with what a cluster has: its storage classes, and what kubelets and controllers do, must pass."""

from __future__ import annotations

from collections.abc import Iterator

from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import Controller
from flux_tenancy.isolation.attempts.rows import made, named
from flux_tenancy.isolation.choices import Layer
from flux_tenancy.isolation.kinds import RESOURCES
from flux_tenancy.isolation.model import Access, Control, Request
from flux_tenancy.isolation.scene import Scene

_REPLICASETS = "system:serviceaccount:kube-system:replicaset-controller"


def running_controls(scene: Scene) -> Iterator[Control]:
    """The controls that depend on what a cluster has."""
    if scene.storage_classes:
        claim = Request(made(scene, "PersistentVolumeClaim"), tuple(Layer))
        yield Control("tenant-persistentvolumeclaim", "the tenant creates a PersistentVolumeClaim", claim)
    yield Control(
        "cluster-replicaset",
        "Kubernetes creates the pods of a Deployment",
        Request(made(scene, "Pod"), tuple(Layer), user=_REPLICASETS),
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
