"""Statements about the openings in the network of tenants' namespaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from flux_tenancy.components.tenant.network import NAMESPACE_NAME_LABEL, OPENINGS_SUFFIX
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.review.access.rules import Subject, SubjectKind
from flux_tenancy.review.access.sentences import Statement
from flux_tenancy.review.render.rendered import RenderedObject

EVERY_ADDRESS = ("0.0.0.0/0", "::/0")
"""Networks of every address."""

_Opening = tuple[str, str, str]
"""Tenant, namespace, and what is open, e.g. `let Pods connect to 10.20.0.0/16`."""


def opening_statements(
    old_objects: Iterable[RenderedObject], new_objects: Iterable[RenderedObject]
) -> Iterator[Statement]:
    """What tenants' Pods may connect to, and who may connect to them, now and no longer.

    Args:
        old_objects, new_objects: the objects of both renders.
    """
    before, after = set(_openings(old_objects)), set(_openings(new_objects))
    for widened, opened in ((True, after - before), (False, before - after)):
        for tenant, namespace, what in sorted(opened):
            words = f"may {'now' if widened else 'no longer'} {what}"
            high = widened and any(network in what for network in EVERY_ADDRESS)
            yield Statement(words, widened, high, Subject(SubjectKind.TENANT, tenant), namespace)


def _openings(objects: Iterable[RenderedObject]) -> Iterator[_Opening]:
    for each in objects:
        tenant = each.manifest.get("metadata", {}).get("labels", {}).get(TENANT_LABEL)
        if each.kind == "NetworkPolicy" and tenant and each.name == f"{tenant}{OPENINGS_SUFFIX}":
            spec = each.manifest["spec"]
            for verb, side, rules in (
                ("let Pods connect to", "to", spec.get("egress", ())),
                ("receive connections from", "from", spec.get("ingress", ())),
            ):
                for rule in rules:
                    peers = " or ".join(map(_peer, rule.get(side) or ({},)))
                    yield tenant, each.namespace, f"{verb} {peers}{_ports(rule.get('ports') or ())}"


def _peer(peer: Manifest) -> str:
    """A peer as the program renders it; any other one counts as everything."""
    if block := peer.get("ipBlock"):
        left_out = ", ".join(block.get("except") or ())
        return f"{block['cidr']} except {left_out}" if left_out else str(block["cidr"])
    labels = peer.get("namespaceSelector", {}).get("matchLabels", {})
    if TENANT_LABEL in labels:
        return f"Pods of the tenant {labels[TENANT_LABEL]}"
    return f"Pods in {labels[NAMESPACE_NAME_LABEL]}" if NAMESPACE_NAME_LABEL in labels else "everything"


def _ports(ports: Iterable[dict[str, Any]]) -> str:
    listed = [f"{_range(each)}/{each.get('protocol', 'TCP')}" for each in ports]
    return f" at {', '.join(listed)}" if listed else ""


def _range(port: dict[str, Any]) -> str:
    return f"{port['port']}-{port['endPort']}" if "endPort" in port else str(port["port"])
