"""A tenant whose developer has a branch with mistakes, and checks it with the tenant's envelope."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.e2e.manifests import kustomization, pod
from tests.support.environment import Environment, base
from tests.support.lab import Lab

TENANT = NAMESPACE = OWNER = "checked"
REPOSITORY = "apps"
HOST = "checked.example.com"


@dataclass(frozen=True)
class Mistake:
    """An object that the platform refuses.

    Attributes:
        object: as `check` shows it.
        outcome: what `check` says.
        words: what both `check` and the cluster say.
        instead: what `check` says to write instead.
        before: the file with the mistake.
        after: the file without.
        applied_by: the object of Flux whose condition has the words.
    """

    object: str
    outcome: str
    words: str
    instead: str
    before: str
    after: str
    applied_by: str = "Kustomization"


def _object(api_version: str, kind: str, name: str = "web", **content: Any) -> str:
    return json.dumps({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **content})


def _service(kind: str) -> str:
    return _object("v1", "Service", spec={"type": kind, "ports": [{"port": 80}]})


def _ingress(host: str) -> str:
    paths = [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}}]
    return _object("networking.k8s.io/v1", "Ingress", spec={"rules": [{"host": host, "http": {"paths": paths}}]})


def _deployment(api_version: str) -> str:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("web", NAMESPACE, "registry.example/web:1")["spec"]}
    return _object(api_version, "Deployment", spec={"selector": {"matchLabels": {"app": "web"}}, "template": template})


def _release(*, role: bool) -> dict[str, Any]:
    source = {"kind": "GitRepository", "name": TENANT}
    return {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": "chart", "namespace": NAMESPACE},
        "spec": {
            "interval": "1h",
            "serviceAccountName": TENANT,
            "chart": {"spec": {"chart": "./chart", "sourceRef": source}},
            "values": {"rbac": {"create": role}},
        },
    }


_ROLE = _object("rbac.authorization.k8s.io/v1", "Role", rules=[])
_ACCOUNT = _object("v1", "ServiceAccount", "chart")
_MAP, _SECOND_MAP = (_object("v1", "ConfigMap", name) for name in ("web", "second"))
FLUX_OBJECTS = "flux/objects.yaml"
MISTAKES = {
    "port": Mistake(
        f"Service {NAMESPACE}/web",
        "needs an opening",
        "spec.type NodePort is not allowed",
        "use one of these: ClusterIP",
        _service("NodePort"),
        _service("ClusterIP"),
    ),
    "host": Mistake(
        f"Ingress {NAMESPACE}/web",
        "needs an opening",
        "host shop.example.org is not an allowed host",
        HOST,
        _ingress("shop.example.org"),
        _ingress(HOST),
    ),
    "version": Mistake(
        f"Deployment {NAMESPACE}/web",
        "refused",
        'no matches for kind "Deployment" in version "apps/v1beta1"',
        "use apps/v1",
        _deployment("apps/v1beta1"),
        _deployment("apps/v1"),
    ),
    "kind": Mistake(
        f"Gadget {NAMESPACE}/web",
        "needs an opening",
        'no matches for kind "Gadget" in version "tools.example/v1"',
        "remove it",
        _object("tools.example/v1", "Gadget"),
        "",
    ),
    "quota": Mistake(
        # Flux applies objects of a kind in the order of their names.
        f"ConfigMap {NAMESPACE}/web",
        "over quota",
        f"exceeded quota: {TENANT}-objects, requested: count/configmaps=1, used: count/configmaps=2",
        "limited: count/configmaps=2",
        f"{_MAP}\n---\n{_SECOND_MAP}\n",
        _MAP,
    ),
    "chart": Mistake(
        f"Role {NAMESPACE}/web",
        "needs an opening",
        # Which verb is refused first depends on who applies it.
        f'resource "roles" in API group "rbac.authorization.k8s.io" in the namespace "{NAMESPACE}"',
        "remove it (most charts have a value for this)",
        json.dumps(_release(role=True)),
        json.dumps(_release(role=False)),
        "HelmRelease",
    ),
}
_CHART = {
    "chart/Chart.yaml": "apiVersion: v2\nname: chart\nversion: 0.1.0\n",
    "chart/templates/account.yaml": _ACCOUNT,
    "chart/templates/role.yaml": "{{ if .Values.rbac.create }}\n" + _ROLE + "\n{{ end }}\n",
}


def branch(*, mended: bool) -> dict[str, str]:
    """The files of the developer's branch: an object of Flux for each mistake."""
    files = {name: each.after if mended else each.before for name, each in MISTAKES.items()}
    syncs = [
        kustomization(name, TENANT, place=NAMESPACE, path=f"./{name}", serviceAccountName=TENANT)
        for name, content in files.items()
        if name != "chart" and content
    ]
    objects = "\n---\n".join([*map(json.dumps, syncs), files.pop("chart")])
    return {FLUX_OBJECTS: objects} | {f"{name}/all.yaml": content for name, content in files.items()} | _CHART


def add(stack: Environment, lab: Lab) -> None:
    files = {"flux/account.yaml": _object("v1", "ServiceAccount", "first")}
    lab.repository(OWNER, REPOSITORY, files, stack.project.folder.parent / "pull-requests", private=True)
    own = {
        "policies": {"hosts": [HOST], "kinds": ["HelmChart"]},
        "limits": {"objects": {"configmaps": 1}},
    }
    stack.project.tenant(TENANT, base(lab, f"{OWNER}/{REPOSITORY}", NAMESPACE, interval="1h") | own)
    stack.onboard(TENANT, "./flux")
    # The sync does not wait for the objects that are refused.
    stack.config["tenants"][TENANT]["sync"]["wait"] = False
