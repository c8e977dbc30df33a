"""Statements about whom the network lets Pods connect to: those of tenants, and Flux's controllers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from flux_tenancy.components.installs.flux.release import APP_LABEL
from flux_tenancy.components.rbac.subjects import Subject, SubjectKind
from flux_tenancy.components.tenant.network import NAMESPACE_NAME_LABEL, OPENINGS_SUFFIX
from flux_tenancy.components.vocabulary.manifests import Manifest, selects
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, TENANT_LABEL
from flux_tenancy.review.access.rules import ANYWHERE
from flux_tenancy.review.access.sentences import AccessChange
from flux_tenancy.review.render.rendered import RenderedObject
from flux_tenancy.review.words import listed

# The largest private networks are 10.0.0.0/8 and fc00::/7.
# Source: https://www.rfc-editor.org/rfc/rfc1918 and https://www.rfc-editor.org/rfc/rfc4193
_WIDEST = {4: 8, 6: 7}


def is_wide(network: str) -> bool:
    """Whether a network has more addresses than any private one, such as all of them or a half."""
    found = ip_network(network)
    return found.prefixlen < _WIDEST[found.version]


@dataclass(frozen=True)
class _Opening:
    """A rule of the openings of a tenant or of a controller.

    Attributes:
        subject: the tenant or the controller.
        namespace: whose Pods it is about; ANYWHERE for a controller.
        side: `to` or `from`.
        peers: who may be connected to, or from where; an empty peer is everything.
        ports: the ports; none for all.
    """

    subject: Subject
    namespace: str
    side: str
    peers: Sequence[Manifest]
    ports: Sequence[Mapping[str, Any]]

    @property
    def words(self) -> str:
        """What is open, e.g. `let Pods connect to 10.20.0.0/16`."""
        verb = "receive connections from" if self.side == "from" else "connect to"
        return f"{'' if self.is_of_flux or self.side == 'from' else 'let Pods '}{verb} {self.where}"

    @property
    def where(self) -> str:
        """The peers and their ports, e.g. `10.20.0.0/16 at 5432/TCP`."""
        return f"{' or '.join(map(_peer, self.peers))}{_ports(self.ports)}"

    @property
    def is_of_flux(self) -> bool:
        return self.subject.kind is SubjectKind.ACCOUNT

    @property
    def is_risk(self) -> bool:
        """Whether it is a risk when it comes: what a controller reaches, every tenant may name."""
        return self.is_of_flux or any(is_wide(each["ipBlock"]["cidr"]) for each in self.peers if "ipBlock" in each)

    def is_within(self, others: Iterable[_Opening]) -> bool:
        """Whether the others together open each of its peers at each of its ports, each with one rule."""
        same = [
            each
            for each in others
            if (each.subject, each.namespace, each.side) == (self.subject, self.namespace, self.side)
        ]
        return all(
            any(_has_port(each.ports, port) and any(_has_peer(wider, peer) for wider in each.peers) for each in same)
            for peer in self.peers
            for port in self.ports or (None,)
        )


def opening_statements(
    old_objects: Iterable[RenderedObject], new_objects: Iterable[RenderedObject]
) -> Iterator[AccessChange]:
    """What tenants' Pods and Flux's controllers may connect to, and who may connect to the former, now and no longer.

    What a wider rule opens as well is no change.
    """
    old, new = list(old_objects), list(new_objects)
    staying = _controllers(old) & _controllers(new)
    before, after = ([*_openings(each), *_of_flux(each, staying)] for each in (old, new))
    for widened, found, others in ((True, after, before), (False, before, after)):
        opened = [each for each in found if not each.is_within(others)]
        for each in sorted(opened, key=lambda one: (one.subject, one.namespace, one.words)):
            left = [other.where for other in others if not widened and other.is_within([each])]
            only = f" (only {listed(left)})" if left else ""
            words = f"may {'now' if widened else 'no longer'} {each.words}{only}"
            yield AccessChange(words, widened, widened and each.is_risk, each.subject, each.namespace)


def _openings(objects: Iterable[RenderedObject]) -> Iterator[_Opening]:
    for each in objects:
        tenant = each.manifest.get("metadata", {}).get("labels", {}).get(TENANT_LABEL)
        if each.kind == "NetworkPolicy" and tenant and each.name == f"{tenant}{OPENINGS_SUFFIX}":
            spec = each.manifest["spec"]
            for side, rules in (("to", spec.get("egress", ())), ("from", spec.get("ingress", ()))):
                for rule in rules:
                    subject = Subject(SubjectKind.TENANT, tenant)
                    yield _Opening(subject, each.namespace, side, rule.get(side) or ({},), rule.get("ports") or ())


def _controllers(objects: Iterable[RenderedObject]) -> set[str]:
    """The names of Flux's controllers in all lanes."""
    return {each.name for each in objects if each.kind == "Deployment" and each.namespace == FLUX_NAMESPACE}


def _of_flux(objects: Iterable[RenderedObject], controllers: Iterable[str]) -> Iterator[_Opening]:
    """The addresses that controllers may connect to: everything, unless NetworkPolicies select their Pods."""
    policies = [each for each in objects if each.kind == "NetworkPolicy" and each.namespace == FLUX_NAMESPACE]
    specs = [each.manifest["spec"] for each in policies if "Egress" in each.manifest["spec"].get("policyTypes", ())]
    for name in controllers:
        subject = Subject(SubjectKind.ACCOUNT, name, FLUX_NAMESPACE)
        own = [each for each in specs if selects(each.get("podSelector", {}), {APP_LABEL: name})]
        for rule in (rule for each in own or [{"egress": [{}]}] for rule in each.get("egress") or ()):
            # All of them may query DNS and connect to each other.
            if peers := [each for each in rule.get("to", ()) if "ipBlock" in each] if rule else [{}]:
                yield _Opening(subject, ANYWHERE, "to", peers, rule.get("ports") or ())


def _has_peer(wider: Manifest, peer: Manifest) -> bool:
    """Whether a peer of a rule includes another one."""
    if not wider or wider == peer:
        return True
    if "ipBlock" not in wider or "ipBlock" not in peer:
        return False
    left_out = [ip_network(each) for each in peer["ipBlock"].get("except") or ()]
    network = ip_network(peer["ipBlock"]["cidr"])
    return _includes(ip_network(wider["ipBlock"]["cidr"]), network) and all(
        not each.overlaps(network) or any(_includes(one, each) for one in left_out)
        for each in map(ip_network, wider["ipBlock"].get("except") or ())
    )


def _includes(wider: IPv4Network | IPv6Network, network: IPv4Network | IPv6Network) -> bool:
    if isinstance(wider, IPv4Network):
        return isinstance(network, IPv4Network) and network.subnet_of(wider)
    return isinstance(network, IPv6Network) and network.subnet_of(wider)


def _has_port(wider: Sequence[Mapping[str, Any]], port: Mapping[str, Any] | None) -> bool:
    """Whether ports of a rule, all without any, include a port or a range; None for all."""
    if not wider or port is None:
        return not wider
    first, last = port["port"], port.get("endPort", port["port"])
    return any(
        each.get("protocol", "TCP") == port.get("protocol", "TCP")
        and each["port"] <= first
        and last <= each.get("endPort", each["port"])
        for each in wider
    )


def _peer(peer: Manifest) -> str:
    """A peer as the program renders it; any other one counts as everything."""
    if block := peer.get("ipBlock"):
        left_out = ", ".join(block.get("except") or ())
        return f"{block['cidr']} except {left_out}" if left_out else str(block["cidr"])
    labels = peer.get("namespaceSelector", {}).get("matchLabels", {})
    if TENANT_LABEL in labels:
        return f"Pods of the tenant {labels[TENANT_LABEL]}"
    return f"Pods in {labels[NAMESPACE_NAME_LABEL]}" if NAMESPACE_NAME_LABEL in labels else "everything"


def _ports(ports: Iterable[Mapping[str, Any]]) -> str:
    found = [f"{_range(each)}/{each.get('protocol', 'TCP')}" for each in ports]
    return f" at {', '.join(found)}" if found else ""


def _range(port: Mapping[str, Any]) -> str:
    return f"{port['port']}-{port['endPort']}" if "endPort" in port else str(port["port"])
