"""The one place where what is planned becomes Pulumi resources.

The manifest of an object with a generated name has `generateName` instead of a name, and a reference to it has that
prefix without the final dash until the object is registered and its name is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pulumi

from flux_tenancy.components.config.errors import BrokenInvariantError
from flux_tenancy.components.plan.planned import Make, Planned, Registered, Stage, of_stage
from flux_tenancy.components.vocabulary.manifests import Manifest, former_type, name_of, resource_type

_REFERENCES = ("secretRef", "certSecretRef", "proxySecretRef")
# In HelmReleases: a list of references to Secrets and ConfigMaps, and values, in which nothing is a reference.
_VALUES_FROM, _VALUES = "valuesFrom", "values"


def generated_names(registered: Iterable[tuple[Manifest, pulumi.CustomResource]]) -> dict[str, pulumi.Output[str]]:
    """The generated names of registered objects, by the placeholder in references to them."""
    return {
        prefix.removesuffix("-"): _name_of(resource)
        for manifest, resource in registered
        if (prefix := manifest["metadata"].get("generateName")) is not None
    }


def referring(manifest: Manifest, names: Mapping[str, pulumi.Input[str]]) -> Manifest:
    """The manifest with the generated name in each reference to such a Secret.

    Args:
        names: the generated names (`generated_names`).
    """

    def part(key: str, value: Any) -> Any:
        if key in _REFERENCES and isinstance(value, dict) and value["name"] in names:
            return value | {"name": names[value["name"]]}
        if key == _VALUES_FROM:
            return [
                each | {"name": names[each["name"]]} if each["kind"] == "Secret" and each["name"] in names else each
                for each in value
            ]
        return referring(value, names) if isinstance(value, dict) and key != _VALUES else value

    return {key: part(key, value) for key, value in manifest.items()}


def _name_of(resource: pulumi.CustomResource) -> pulumi.Output[str]:
    # The SDK gives a resource an attribute for each of its properties.
    metadata: pulumi.Output[dict[str, str]] = resource.metadata  # type: ignore[attr-defined]
    # An update that leaves out a new object (`--target`) has only what the program has given, which has no name.
    return metadata.apply(lambda found: found.get("name", ""))


# Registered objects belong to Pulumi alone. Neither a Flux that was bootstrapped before nor a copy in a repository may
# apply or prune them, and Pulumi wins conflicts with other field managers.
# Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#controlling-the-apply-behavior-of-resources and
# https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/managing-resources-with-server-side-apply/
OWNERSHIP = {"kustomize.toolkit.fluxcd.io/reconcile": "disabled", "pulumi.com/patchForce": "true"}

# By default the provider deletes in the foreground, which waits for all dependents that block it. A tenant's object can
# name any cluster-scoped object, or any in its namespace, as its owner. So only kinds for which the cluster itself
# creates dependents are deleted in the foreground.
# Source: https://www.pulumi.com/registry/packages/kubernetes/installation-configuration/#pulumi-kubernetes-annotations
BACKGROUND = {"pulumi.com/deletionPropagationPolicy": "background"}
_WITH_DEPENDENTS = frozenset({"Deployment"})


def register_planned(
    planned: Sequence[Planned],
    options: Callable[[Planned], pulumi.ResourceOptions],
    early: Registered = MappingProxyType({}),
) -> dict[str, pulumi.CustomResource]:
    """Register what is planned for one owner, each object after those of earlier stages and those that it needs.

    Args:
        early: what is registered already, by key.

    Returns:
        The resources by key.
    """
    wanted = {each.key: each for each in planned}
    if len(wanted) != len(planned):
        raise BrokenInvariantError("two objects have one name, although the checks of the stack refuse that")
    by_stage = {stage: of_stage(wanted.values(), stage) for stage in Stage}
    registered: dict[str, pulumi.CustomResource] = {}
    names: dict[str, pulumi.Output[str]] = {}

    def add(each: Planned) -> pulumi.CustomResource:
        if each.key not in registered:
            before = [registered[one.key] for one in _before(each.stage, by_stage)]
            needed = [add(wanted[key]) for key in each.needs]
            opts = pulumi.ResourceOptions.merge(options(each), pulumi.ResourceOptions(depends_on=[*before, *needed]))
            make = each.make or _as_planned(referring(each.manifest, names))
            registered[each.key] = early[each.key] if each.key in early else make(opts, registered)
            names.update(generated_names([(each.manifest, registered[each.key])]))
        return registered[each.key]

    for stage in Stage:
        for each in by_stage[stage]:
            add(each)
    return registered


def _before(stage: Stage, by_stage: Mapping[Stage, Sequence[Planned]]) -> Iterator[Planned]:
    """What an object of a stage is created after; for a stage without objects, what they would be created after."""
    for each in stage.after:
        yield from by_stage[each] or _before(each, by_stage)


def _as_planned(manifest: Manifest) -> Make:
    return lambda opts, _: register(manifest, opts)


def owned(manifest: Manifest) -> Manifest:
    """The manifest, marked as Pulumi's, and so that nobody's dependents block its deletion."""
    metadata = manifest["metadata"]
    own = OWNERSHIP if manifest["kind"] in _WITH_DEPENDENTS else OWNERSHIP | BACKGROUND
    return manifest | {"metadata": metadata | {"annotations": metadata.get("annotations", {}) | own}}


def register(manifest: Manifest, opts: pulumi.ResourceOptions, name: str = "") -> pulumi.CustomResource:
    """Register one manifest, marked as Pulumi's; a Secret's data is secret in state, diffs and logs, too.

    The resource has the object's name in the cluster, unless the name is unknown and another one is given. Pulumi
    generates names itself, since server-side apply does not let the API server do it: a replacement is then another
    object, created before the previous one is deleted.

    Source: https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/managing-resources-with-server-side-apply/

    The typed classes of `pulumi_kubernetes` would do the same, but importing and translating them would take most of
    the run time of a stack with hundreds of objects.
    """
    properties = owned(manifest)
    if manifest["kind"] == "Secret":
        properties["data"] = pulumi.Output.secret(manifest["data"])
    if (prefix := manifest["metadata"].get("generateName")) is not None:
        name = prefix.removesuffix("-")
        properties["metadata"] = {key: value for key, value in properties["metadata"].items() if key != "generateName"}
    if (former := former_type(manifest)) is not None:
        opts = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(aliases=[pulumi.Alias(type_=former)]))
    return pulumi.CustomResource(resource_type(manifest), name or name_of(manifest), properties, opts)
