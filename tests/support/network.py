"""Who may connect to whom under NetworkPolicies, computed from the manifests.

No cluster of the tests has a network that enforces NetworkPolicies, so their effect is computed as Kubernetes defines
it: a connection needs an egress rule for its source and an ingress rule for its target, unless no policy selects them
for that direction.

Source: https://kubernetes.io/docs/concepts/services-networking/network-policies/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any

from flux_tenancy.components.vocabulary.manifests import selects

Manifest = Mapping[str, Any]


@dataclass(frozen=True)
class Peer:
    """An end of a connection: a pod, or an address outside of the cluster.

    Attributes:
        namespace: of the pod; empty for an address.
        labels: of the pod.
        address: an address outside of the cluster.
    """

    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    address: str = ""


@dataclass(frozen=True)
class Network:
    """A cluster's network.

    Attributes:
        namespaces: the labels of each namespace; the one with its name is added.
        policies: all NetworkPolicies.
    """

    namespaces: Mapping[str, Mapping[str, str]]
    policies: Sequence[Manifest]

    def connects(self, source: Peer, target: Peer, port: int, protocol: str = "TCP") -> bool:
        """Whether the source may connect to this port of the target."""
        outward = self._allows("Egress", source, target, port, protocol)
        return outward and self._allows("Ingress", target, source, port, protocol)

    def _allows(self, direction: str, subject: Peer, other: Peer, port: int, protocol: str) -> bool:
        if subject.address:
            return True
        about = [
            policy["spec"]
            for policy in self.policies
            if policy["metadata"]["namespace"] == subject.namespace
            and direction in _types(policy["spec"])
            and selects(policy["spec"].get("podSelector", {}), subject.labels)
        ]
        rules: Iterable[Manifest] = (rule for spec in about for rule in spec.get(direction.lower(), ()))
        side = "to" if direction == "Egress" else "from"
        return not about or any(
            _of_port(rule.get("ports"), port, protocol) and self._of_peer(rule.get(side), other, subject.namespace)
            for rule in rules
        )

    def _of_peer(self, peers: Sequence[Manifest] | None, other: Peer, namespace: str) -> bool:
        return not peers or any(self._matches(peer, other, namespace) for peer in peers)

    def _matches(self, peer: Manifest, other: Peer, namespace: str) -> bool:
        if "ipBlock" in peer:
            return bool(other.address) and _in_block(peer["ipBlock"], other.address)
        if other.address:
            return False
        labels = {"kubernetes.io/metadata.name": other.namespace, **self.namespaces[other.namespace]}
        there = (
            selects(peer["namespaceSelector"], labels) if "namespaceSelector" in peer else other.namespace == namespace
        )
        return there and selects(peer.get("podSelector", {}), other.labels)


def _types(spec: Manifest) -> Sequence[str]:
    found: Sequence[str] = spec.get("policyTypes", ["Ingress", *(["Egress"] if "egress" in spec else [])])
    return found


def _of_port(ports: Sequence[Manifest] | None, port: int, protocol: str) -> bool:
    return not ports or any(
        each.get("protocol", "TCP") == protocol
        and ("port" not in each or each["port"] <= port <= each.get("endPort", each["port"]))
        for each in ports
    )


def _in_block(block: Manifest, address: str) -> bool:
    inside = [ip_address(address) in ip_network(each) for each in (block["cidr"], *block.get("except", ()))]
    return inside[0] and not any(inside[1:])
