"""What a new tenant is, in two sentences: where its content comes from, and what bounds it.

Its role is a sentence about access.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from flux_tenancy.components.tenant.annotations import SOURCES
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import KUSTOMIZATION, POD_SECURITY_LABEL
from flux_tenancy.review.access.words import all_of, counted
from flux_tenancy.review.render.rendered import Render, RenderedObject
from flux_tenancy.review.words.statement import Statement

# What a quota limits of a node; how many objects there may be has safe defaults.
_COMPUTE = re.compile(r"(requests\.|limits\.)?(cpu|memory|storage|ephemeral-storage)|pods")


def onboardings(names: Collection[str], render: Render) -> Iterator[Statement]:
    """Two sentences for each new tenant.

    Args:
        names: the new tenants.
        render: what the stack would apply.
    """
    policies = render.settings.stack.get("policies", {}) if render.settings else {}
    of_all = tuple(policies.get("sources", {}).get("allowed", ()))
    for name in names:
        own = [each for each in render.objects if each.owner == name and each.is_kubernetes]
        namespaces = [each.manifest["metadata"] for each in own if each.kind == "Namespace"]
        homes = [
            f"{each['name']} (Pod Security {each['labels'].get(POD_SECURITY_LABEL, 'none')})" for each in namespaces
        ]
        parts = [
            f"runs in {counted(homes, 'namespaces')}",
            *(_synced(each.manifest, own) for each in own if each.kind == KUSTOMIZATION),
        ]
        yield Statement(name, "; ".join(parts))
        listed = [entry for each in namespaces for entry in each.get("annotations", {}).get(SOURCES, "").split()]
        sources = counted(dict.fromkeys((*of_all, *listed)), "more") or "none but those of the stack"
        yield Statement(name, f"has the allowed sources {sources}, and {_limits(own)}")


def _synced(sync: Manifest, objects: Iterable[RenderedObject]) -> str:
    spec, reference = sync["spec"], sync["spec"]["sourceRef"]
    namespace = reference.get("namespace", sync["metadata"]["namespace"])
    keys = reference["kind"], namespace, reference["name"]
    source = next((each.manifest["spec"] for each in objects if (each.kind, each.namespace, each.name) == keys), None)
    if source is None:
        return f"syncs {spec['path']} of {reference['kind']} {namespace}/{reference['name']}"
    place = source.get("url") or f"{source.get('endpoint', '')}/{source.get('bucketName', '')}"
    reference_words = [f"{key} {value}" for key, value in source.get("ref", {}).items()]
    signed = "signed" if source.get("verify") else "not verified by signature"
    return f"syncs {spec['path']} of {place} ({', '.join([*reference_words, signed])})"


def _limits(objects: Iterable[RenderedObject]) -> str:
    """The limits of compute resources and storage."""
    hard: dict[str, Mapping[str, str]] = {
        each.name: each.manifest["spec"].get("hard", {}) for each in objects if each.kind == "ResourceQuota"
    }
    found = {f"{value} of {key}" for each in hard.values() for key, value in each.items() if _COMPUTE.fullmatch(key)}
    return f"the limits {all_of(sorted(found))}" if found else "no limit of CPU and memory"
