"""Peers of network policies: addresses and ports as sections name them, and as a NetworkPolicy does.

Source: https://kubernetes.io/docs/concepts/services-networking/network-policies/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from pydantic import Field, model_validator

from flux_tenancy.components.config.errors import MisplacedValueError
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import Network

IpNetwork = IPv4Network | IPv6Network


class Protocol(StrEnum):
    """A transport protocol."""

    TCP = "TCP"
    UDP = "UDP"
    SCTP = "SCTP"


class NetworkPort(Section):
    """A port, or a range of ports."""

    port: int = Field(ge=1, le=65535, description="The port, or the first of a range.")
    end_port: int | None = Field(None, ge=1, le=65535, description="The last port of a range.")
    protocol: Protocol = Field(Protocol.TCP, description="The protocol.")

    @model_validator(mode="after")
    def _in_order(self) -> NetworkPort:
        if self.end_port is not None and self.end_port < self.port:
            raise MisplacedValueError(
                ("endPort",),
                Message("FT-TEN-510", f"is less than port ({self.port})", "write the first port in port").of(
                    self.end_port
                ),
            )
        return self


class NetworkRange(Section):
    """Addresses outside of the cluster, and ports at them."""

    cidr: Network = Field(description="The addresses, e.g. `10.20.0.0/16`.")
    excluded: tuple[Network, ...] = Field((), alias="except", description="Excluded addresses of `cidr`.")
    ports: tuple[NetworkPort, ...] = Field((), description="Ports; all by default.")

    @model_validator(mode="after")
    def _excepts_a_part(self) -> NetworkRange:
        whole = ip_network(self.cidr)
        for index, each in enumerate(self.excluded):
            # Kubernetes requires a strict subset.
            if not _contains(whole, ip_network(each)) or ip_network(each) == whole:
                raise MisplacedValueError(
                    ("except", index),
                    Message(
                        "FT-TEN-511", f"is not a part of {self.cidr}", "list only parts of cidr, or correct cidr"
                    ).of(each),
                )
        return self

    @property
    def peer(self) -> dict[str, Any]:
        """The addresses as a peer of a NetworkPolicy."""
        return {"ipBlock": {"cidr": self.cidr} | ({"except": list(self.excluded)} if self.excluded else {})}

    def exposed(self, network: str) -> list[str]:
        """The parts of a network that these addresses include."""
        whole, other = ip_network(self.cidr), ip_network(network)
        if not (_contains(whole, other) or _contains(other, whole)):
            return []
        parts: list[IpNetwork] = [other if _contains(whole, other) else whole]
        for each in map(ip_network, self.excluded):
            parts = [rest for part in parts for rest in _without(part, each)]
        return [str(part) for part in parts]


def port_entries(ports: Sequence[NetworkPort]) -> dict[str, Any]:
    """The key `ports` of a rule of a NetworkPolicy; nothing for all ports."""
    return {"ports": list(map(_entry, ports))} if ports else {}


def egress_rules(ranges: Iterable[NetworkRange]) -> Iterator[dict[str, Any]]:
    """The rules of a NetworkPolicy that let pods connect to these addresses."""
    for each in ranges:
        yield {"to": [each.peer]} | port_entries(each.ports)


def _entry(port: NetworkPort) -> dict[str, Any]:
    entry: dict[str, Any] = {"protocol": port.protocol.value, "port": port.port}
    return entry | ({"endPort": port.end_port} if port.end_port is not None else {})


def _contains(whole: IpNetwork, part: IpNetwork) -> bool:
    if isinstance(whole, IPv4Network):
        return isinstance(part, IPv4Network) and part.subnet_of(whole)
    return isinstance(part, IPv6Network) and part.subnet_of(whole)


def _without(part: IpNetwork, left_out: IpNetwork) -> Iterator[IpNetwork]:
    if _contains(left_out, part):
        return
    if _contains(part, left_out):
        # Both are of the same version.
        yield from part.address_exclude(left_out)  # type: ignore[arg-type]
    else:
        yield part
