"""Kubernetes manifests as plain data, and the one place where they become Pulumi resources."""

from __future__ import annotations

from typing import Any

import pulumi

Manifest = dict[str, Any]


def resource_type(manifest: Manifest) -> str:
    """The Pulumi type token of a manifest, e.g. `kubernetes:apps/v1:Deployment`.

    The provider decides by this token how long to wait for an object, so a Deployment is awaited until it is available
    and a CustomResourceDefinition until it is established.
    """
    api_version = manifest["apiVersion"]
    group_version = api_version if "/" in api_version else f"core/{api_version}"
    return f"kubernetes:{group_version}:{manifest['kind']}"


def name_of(manifest: Manifest) -> str:
    """`namespace/name` of an object, or `name` where it has no namespace."""
    metadata = manifest["metadata"]
    return "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))


def register(manifest: Manifest, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """Register one manifest as it is.

    The typed classes of `pulumi_kubernetes` would say the same, but loading and translating them costs most of the time
    of a stack with hundreds of objects.
    """
    return pulumi.CustomResource(resource_type(manifest), name_of(manifest), dict(manifest), opts)
