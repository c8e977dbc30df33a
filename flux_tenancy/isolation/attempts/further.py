"""Attempts that depend on which objects a cluster has, so that no row can state them."""

from __future__ import annotations

from collections.abc import Iterator

from flux_tenancy.components.vocabulary.manifests import RBAC
from flux_tenancy.components.vocabulary.names import Controller
from flux_tenancy.isolation.attempts.rows import bound_role, made, named, platforms_bindings
from flux_tenancy.isolation.choices import Layer
from flux_tenancy.isolation.model import NAME, Access, Attempt, Finding, Request, State
from flux_tenancy.isolation.scene import Scene

_EVERYTHING = "cluster-admin"
# What a controller that runs a tenant's content must not be able to do.
_POWERS = (
    ("create", RBAC, "clusterrolebindings", ""),
    ("create", "", "pods", "kube-system"),
    ("list", "", "secrets", "kube-system"),
    ("impersonate", "", "users", ""),
    ("impersonate", "", "groups", ""),
    ("impersonate", "", "serviceaccounts", "kube-system"),
)


def access(scene: Scene) -> Iterator[Attempt]:
    """Access for others, and the platform's own binding (threats 6, 10, 11 and 32)."""
    if bound_role(scene) != _EVERYTHING:
        yield Attempt(
            "10-more-than-it-has",
            10,
            "a RoleBinding to a role with more rights than the tenant has",
            (Request(made(scene, "RoleBinding", {"roleRef": {"name": _EVERYTHING}}), (Layer.ROLE,)),),
        )
    sync = {"spec": {"serviceAccountName": NAME, "sourceRef": {"kind": "GitRepository", "name": NAME}}}
    yield Attempt(
        "6-own-account-in-role",
        6,
        "another service account with the tenant's role, impersonated by Flux",
        (
            Request(made(scene, "RoleBinding"), (Layer.ROLE,)),
            Request(made(scene, "Kustomization", sync), (Layer.ADMISSION,)),
        ),
    )
    for existing in platforms_bindings(scene)[:1]:
        target = named(scene, "RoleBinding", existing["metadata"]["name"])
        yield Attempt(
            "11-binding-gone",
            11,
            "deleting the platform's RoleBinding",
            (Request(target, (Layer.ROLE, Layer.ADMISSION), "delete"),),
        )
        owner = {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "name": existing["metadata"]["name"],
            "uid": existing["metadata"]["uid"],
            "blockOwnerDeletion": True,
        }
        owned = made(scene, "ConfigMap", {"metadata": {"ownerReferences": [owner]}})
        yield Attempt.at_admission(
            "32-owner",
            32,
            "an object that blocks the deletion of the platform's RoleBinding",
            owned,
            baseline=made(scene, "ConfigMap"),
        )


def programs(scene: Scene) -> Iterator[Attempt]:
    """What a program that a build runs could do with its controller's rights (threat 29)."""
    for controller in (Controller.KUSTOMIZE, Controller.HELM):
        user = scene.controller_user(controller)
        for verb, group, resource, namespace in _POWERS:
            where = f" in {namespace}" if namespace else ""
            proof = (
                Access(verb, group, resource, namespace, user=user, layer=Layer.CONTROLLERS)
                if user
                else Finding(Layer.CONTROLLERS, State.UNPROVEN, f"no Deployment of {controller} found")
            )
            yield Attempt(
                f"29-{controller}-{verb}-{resource}",
                29,
                f"{verb} {resource}{where} with the rights of {controller}",
                (proof,),
            )


def volumes(scene: Scene) -> Iterator[Attempt]:
    """An existing volume where no class is the default (threat 34)."""
    default = any(
        each["metadata"].get("annotations", {}).get("storageclass.kubernetes.io/is-default-class") == "true"
        for each in scene.storage_classes
    )
    if not default:
        yield Attempt.at_admission(
            "34-volume-by-no-class",
            34,
            "an existing volume through a claim without a class, because the cluster has no default class",
            made(scene, "PersistentVolumeClaim", {"spec": {"storageClassName": None}}),
        )
