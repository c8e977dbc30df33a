"""Renders made by hand, for tests that need no configuration."""

from __future__ import annotations

from typing import Any

from flux_tenancy.review.render.rendered import PLATFORM, Render, RenderedObject


def kubernetes(kind: str, name: str, namespace: str = "", owner: str = "dev-team", **fields: Any) -> RenderedObject:
    """An object of the cluster."""
    metadata: dict[str, Any] = {"name": name} | ({"namespace": namespace} if namespace else {})
    metadata |= fields.pop("metadata", {})
    manifest = {"apiVersion": "example.com/v1", "kind": kind, "metadata": metadata, **fields}
    resource = f"{namespace}/{name}" if namespace else name
    return RenderedObject(owner, f"kubernetes:example.com/v1:{kind}", resource, manifest)


def at_github(kind: str, name: str, repository: str, owner: str = "dev-team") -> RenderedObject:
    """A registration at GitHub, such as a RepositoryDeployKey."""
    manifest = {"kind": kind, "metadata": {"name": name}, "properties": {"repository": repository}}
    return RenderedObject(owner, f"github:index/{kind[0].lower()}{kind[1:]}:{kind}", name, manifest)


def helm_release(name: str) -> RenderedObject:
    """A Helm release of the platform."""
    manifest = {"kind": "Release", "metadata": {"name": name}, "properties": {}}
    return RenderedObject(PLATFORM, "kubernetes:helm.sh/v3:Release", name, manifest)


def render_of(*objects: RenderedObject, stack: str = "staging") -> Render:
    """The render of a stack with these objects."""
    return Render.of(stack, objects)
