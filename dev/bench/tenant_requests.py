"""What a tenant asks of the API server every day, with objects that every policy allows."""

from __future__ import annotations

from dataclasses import dataclass

from flux_tenancy.components.cluster.client import path_of
from flux_tenancy.components.vocabulary.manifests import Manifest, merge_patch
from tests.support.policy_cases import deployment, git, kustomization, made, service

SOURCES = "https://git.example.com/*"
IMAGES = "registry.example.com/*"
"""What the platform allows, so that the policies have lists to compare with."""

OUTSIDE = "bench-outside"
"""A namespace that belongs to no tenant, so that no policy applies to it."""

VERBS = ("create", "update", "delete")

_CONTAINER = {
    "image": "registry.example.com/team/main:1",
    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
}
_POD = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


@dataclass(frozen=True)
class Target:
    """An object that is created, updated by a merge patch and deleted, under a name for the report."""

    name: str
    manifest: Manifest
    change: Manifest

    def request(self, verb: str, name: str) -> tuple[str, str, Manifest | None]:
        """Method, path and body of a request for the object `name`."""
        manifest = merge_patch(self.manifest, {"metadata": {"name": name}})
        path = path_of(manifest)
        if verb == "create":
            return "POST", path.rpartition("/")[0], manifest
        return ("PATCH", path, self.change) if verb == "update" else ("DELETE", path, None)


def targets(tenant: str) -> tuple[Target, ...]:
    """Objects in the namespace of a tenant, which has the tenant's name, and a control outside of it."""
    source = {"kind": "GitRepository", "name": tenant}
    sync = kustomization(namespace=tenant, serviceAccountName=tenant, targetNamespace=tenant, sourceRef=source)
    # Paused, so that the deployment controller creates nothing and takes no time of the same cores.
    paused = {"spec": {"paused": True, "replicas": 0}}
    application = merge_patch(deployment(namespace=tenant, container=_CONTAINER, securityContext=_POD), paused)
    interval, value = {"spec": {"interval": "20m"}}, {"data": {"key": "new"}}
    return (
        Target("Kustomization", sync, interval),
        Target("GitRepository", git(f"https://git.example.com/{tenant}/apps.git", namespace=tenant), interval),
        Target("Deployment", application, {"spec": {"replicas": 1}}),
        Target("ConfigMap", made("ConfigMap", namespace=tenant, data={"key": "old"}), value),
        Target("ConfigMap, no policy", made("ConfigMap", namespace=OUTSIDE, data={"key": "old"}), value),
    )


def forbidden(tenant: str) -> tuple[str, str, Manifest]:
    """A dry run that every engine refuses: a Service that is reachable from outside the cluster."""
    exposed = merge_patch(service(type="NodePort"), {"metadata": {"namespace": tenant}})
    return "POST", f"/api/v1/namespaces/{tenant}/services?dryRun=All", exposed
