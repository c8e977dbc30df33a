"""Kubernetes manifests as plain data, and the one place where they become Pulumi resources."""

from __future__ import annotations

from typing import Any

import pulumi

Manifest = dict[str, Any]

# What is registered is Pulumi's alone. A Flux that was bootstrapped before, or a copy in a repository, must neither
# apply nor prune it, and where another field manager stands in the way, Pulumi's word counts.
# Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#controlling-the-apply-behavior-of-resources and
# https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/managing-resources-with-server-side-apply/
OWNERSHIP = {"kustomize.toolkit.fluxcd.io/reconcile": "disabled", "pulumi.com/patchForce": "true"}

# The provider's own way waits for all dependents that ask for it, and a tenant's object can name as its owner whatever
# has no namespace or is in the tenant's. So only what the cluster itself makes dependents for is deleted in that way.
# Source: https://www.pulumi.com/registry/packages/kubernetes/installation-configuration/#pulumi-kubernetes-annotations
BACKGROUND = {"pulumi.com/deletionPropagationPolicy": "background"}
_WITH_DEPENDENTS = frozenset({"Deployment"})


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


def owned(manifest: Manifest) -> Manifest:
    """The manifest, marked as Pulumi's, and so that nobody's objects hold its deletion."""
    metadata = manifest["metadata"]
    own = OWNERSHIP if manifest["kind"] in _WITH_DEPENDENTS else OWNERSHIP | BACKGROUND
    return manifest | {"metadata": metadata | {"annotations": metadata.get("annotations", {}) | own}}


def register(manifest: Manifest, opts: pulumi.ResourceOptions, name: str = "") -> pulumi.CustomResource:
    """Register one manifest, marked as Pulumi's; a Secret's data is secret in state, diffs and logs as well.

    The state calls it by its name in the cluster, unless that is not known beforehand and another is given. Where the
    name is to be generated, Pulumi does so, since with server-side apply it leaves that to no API server: a replacement
    is then another object, made before the previous one goes.

    Source: https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/managing-resources-with-server-side-apply/

    The typed classes of `pulumi_kubernetes` would say the same, but loading and translating them costs most of the time
    of a stack with hundreds of objects.
    """
    properties = owned(manifest)
    if manifest["kind"] == "Secret":
        properties["data"] = pulumi.Output.secret(manifest["data"])
    if (prefix := manifest["metadata"].get("generateName")) is not None:
        name = prefix.removesuffix("-")
        properties["metadata"] = {key: value for key, value in properties["metadata"].items() if key != "generateName"}
    return pulumi.CustomResource(resource_type(manifest), name or name_of(manifest), properties, opts)
