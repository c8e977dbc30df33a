"""Renders made by hand, for tests that need no configuration."""

from __future__ import annotations

from typing import Any

from flux_tenancy.components.vocabulary.manifests import Manifest, name_of, resource_type
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.review.render.rendered import PLATFORM, Render, RenderedObject


def rendered_object(manifest: Manifest, owner: str = PLATFORM, resource: str = "") -> RenderedObject:
    """An object of the cluster; the name of its resource is that of the object by default."""
    return RenderedObject(owner, resource_type(manifest), resource or name_of(manifest), manifest)


def kubernetes(
    kind: str, name: str, namespace: str = "", owner: str = "dev-team", api: str = "example.com/v1", **fields: Any
) -> RenderedObject:
    """Such an object from its parts."""
    metadata: dict[str, Any] = {"name": name} | ({"namespace": namespace} if namespace else {})
    metadata |= fields.pop("metadata", {})
    resource = f"{namespace}/{name}" if namespace else name
    return rendered_object({"apiVersion": api, "kind": kind, "metadata": metadata, **fields}, owner, resource)


def home(name: str = "apps", tenant: str = "dev-team") -> RenderedObject:
    """A tenant's namespace."""
    return kubernetes("Namespace", name, owner=tenant, api="v1", metadata={"labels": {TENANT_LABEL: tenant}})


def at_github(kind: str, name: str, repository: str, owner: str = "dev-team", **properties: Any) -> RenderedObject:
    """A registration at GitHub, such as a RepositoryDeployKey."""
    properties = {"repository": repository} | properties
    manifest = {"kind": kind, "metadata": {"name": name}, "properties": properties}
    return RenderedObject(owner, f"github:index/{kind[0].lower()}{kind[1:]}:{kind}", name, manifest)


def helm_release(name: str) -> RenderedObject:
    """A Helm release of the platform."""
    manifest = {"kind": "Release", "metadata": {"name": name}, "properties": {}}
    return RenderedObject(PLATFORM, "kubernetes:helm.sh/v3:Release", name, manifest)


def render_of(*objects: RenderedObject, stack: str = "staging") -> Render:
    """The render of a stack with these objects."""
    return Render.of(stack, objects)
