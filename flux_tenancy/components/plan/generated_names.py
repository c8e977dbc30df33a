"""Objects with generated names, and references to them.

The manifest of such an object has `generateName` instead of a name, and a reference to it has that prefix without the
final dash until the object is registered and its name is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pulumi

from flux_tenancy.components.vocabulary.manifests import Manifest

_REFERENCES = ("secretRef", "certSecretRef", "proxySecretRef")
# In HelmReleases: a list of references to Secrets and ConfigMaps, and values, in which nothing is a reference.
_VALUES_FROM, _VALUES = "valuesFrom", "values"


def generated_names(registered: Iterable[tuple[Manifest, pulumi.CustomResource]]) -> dict[str, pulumi.Output[str]]:
    """The generated names of registered objects, by the placeholder in references to them.

    Args:
        registered: each manifest with its resource.
    """
    return {
        prefix.removesuffix("-"): _name_of(resource)
        for manifest, resource in registered
        if (prefix := manifest["metadata"].get("generateName")) is not None
    }


def referring(manifest: Manifest, names: Mapping[str, pulumi.Input[str]]) -> Manifest:
    """The manifest with the generated name in each reference to such a Secret.

    Args:
        manifest: the object with references.
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
