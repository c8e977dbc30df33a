"""A cluster as the suite reads it, and a fake API server with answers from the test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flux_tenancy.components.vocabulary.names import Controller
from flux_tenancy.isolation.model import AccessReview, Request
from flux_tenancy.isolation.scene import RESOURCES, Scene, Tenancy
from flux_tenancy.operations.admission.answers import Response
from flux_tenancy.operations.admission.dry_run import Kind

KINDS = {
    name: Kind(f"{group}/v1" if group else "v1", name, resource) for name, (group, resource) in RESOURCES.items()
} | {"Namespace": Kind("v1", "Namespace", "namespaces")}
ACCOUNT = "dev-team"


def placed(name: str, **rest: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "apps", "uid": "1", "labels": {}}, "spec": {}, **rest}


def deployment(controller: Controller, *arguments: str, **environment: str) -> dict[str, Any]:
    container = {
        "name": "manager",
        "args": list(arguments),
        "env": [{"name": name, "value": value} for name, value in environment.items()],
    }
    spec = {"template": {"spec": {"serviceAccountName": controller.value, "containers": [container]}}}
    return {"metadata": {"name": controller.value, "namespace": "flux-system"}, "spec": spec}


def scene(**fields: Any) -> Scene:
    """A tenant with one object of each kind that attempts need."""
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": "apps"}
    role = {"kind": "ClusterRole", "name": "flux-tenancy-tenant"}
    source = {"kind": "GitRepository", "name": "dev-team"}
    given: dict[str, Any] = {
        "tenancy": Tenancy("dev-team", ("apps",), ACCOUNT),
        "flux": "flux-system",
        "foreign": "tools",
        "kinds": KINDS,
        "namespace": {"metadata": {"name": "apps", "labels": {"toolkit.fluxcd.io/tenant": "dev-team"}}},
        "controllers": {controller: [deployment(controller)] for controller in Controller},
        "objects": {
            "GitRepository": [placed("dev-team", spec={"url": "ssh://git@git.example.com/apps", "interval": "1m"})],
            "Kustomization": [placed("dev-team", spec={"sourceRef": source})],
            "Pod": [placed("web", spec={"nodeName": "one", "containers": [{"image": "registry.example.com/a:1"}]})],
            "ResourceQuota": [placed("quota", spec={"hard": {"count/configmaps": "10"}})],
            "RoleBinding": [placed("reconciler", roleRef=role, subjects=[subject])],
            "Service": [placed("web")],
        },
    }
    return Scene(**(given | fields))


@dataclass
class FakeAsker:
    """An API server.

    Attributes:
        says: what it says to a request of a user.
        allowed: what RBAC says to a question about a user.
        asked: the requests with who has made them.
    """

    says: Callable[[Request, str], Response] = lambda request, user: Response(201)
    allowed: Callable[[AccessReview, str], bool] = lambda access, user: False
    kinds: dict[str, Kind] = field(default_factory=lambda: dict(KINDS))
    asked: list[tuple[Request, str]] = field(default_factory=list)

    def serves(self, manifest: dict[str, Any]) -> bool:
        return manifest["kind"] in self.kinds

    def dry_run(self, request: Request, user: str) -> Response:
        self.asked.append((request, user))
        return self.says(request, user)

    def allows(self, access: AccessReview, user: str) -> bool:
        return self.allowed(access, user)
