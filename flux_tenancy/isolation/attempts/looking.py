"""Findings by inspection of the flags, the environment and the network policies of Flux's controllers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from ipaddress import ip_address, ip_network

from flux_tenancy.components.vocabulary.manifests import Manifest, selects
from flux_tenancy.components.vocabulary.names import REQUIRED_CONTROLLERS, Controller
from flux_tenancy.isolation.model import Finding, Layer, State
from flux_tenancy.isolation.scene import Scene
from flux_tenancy.review.access.boundaries import arguments_of, environment_of

GATES = "feature-gates"
_CREDENTIALS = re.compile(r"//[^/@\s]*@")
METADATA_ADDRESS = "169.254.169.254"
"""Where clouds serve a node's identity to everything that can reach the address."""


def looked(
    scene: Scene, controller: Controller, layer: Layer, question: Callable[[Manifest], tuple[bool, str]]
) -> Finding:
    """Ask a question about all Deployments of a controller.

    Args:
        layer: the layer that it proves.
        question: whether one Deployment holds, and what it shows.
    """
    deployments = scene.controllers.get(controller, ())
    if not deployments:
        if controller in REQUIRED_CONTROLLERS:
            message = f"no Deployment of {controller} found; name Flux's namespace with --flux-namespace"
            return Finding(layer, State.UNPROVEN, message)
        return Finding(layer, State.NOT_APPLICABLE, f"the cluster has no {controller}")
    answers = [question(deployment) for deployment in deployments]
    holds = all(answer for answer, _ in answers)
    said = next(seen for answer, seen in answers if answer is holds)
    return Finding(layer, State.HOLDS if holds else State.OPEN, f"{controller}: {said}", controller)


def has_flag(scene: Scene, controller: Controller, name: str, wanted: str | None = "true") -> Finding:
    """Whether a controller has a flag, with this value or with any if None."""

    def question(deployment: Manifest) -> tuple[bool, str]:
        value = arguments_of(deployment).get(name)
        holds = bool(value) if wanted is None else value == wanted
        return holds, f"--{name}" + (f"={value}" if value is not None else " is not set")

    return looked(scene, controller, Layer.FLUX, question)


def lacks_flags(scene: Scene, controller: Controller, names: Sequence[str]) -> Finding:
    """Whether a controller has none of these flags on."""

    def question(deployment: Manifest) -> tuple[bool, str]:
        on = [name for name in names if arguments_of(deployment).get(name, "false") not in ("false", "")]
        return not on, f"--{on[0]} is set" if on else f"without {', '.join(f'--{name}' for name in names)}"

    return looked(scene, controller, Layer.FLUX, question)


def has_gate(scene: Scene, controller: Controller, gate: str, layer: Layer) -> Finding:
    """Whether a feature gate of a controller is on."""

    def question(deployment: Manifest) -> tuple[bool, str]:
        gates = arguments_of(deployment).get(GATES, "").split(",")
        return f"{gate}=true" in gates, f"--{GATES}: {gate} is {'on' if f'{gate}=true' in gates else 'not on'}"

    return looked(scene, controller, layer, question)


def has_environment(
    scene: Scene, controller: Controller, names: Sequence[str], holds: Callable[[Mapping[str, str]], bool]
) -> Finding:
    """Whether the environment of a controller is in order.

    Args:
        names: the variables to show.
        holds: whether an environment is in order.
    """

    def question(deployment: Manifest) -> tuple[bool, str]:
        there = environment_of(deployment)
        shown = {name: _CREDENTIALS.sub("//***@", value) for name, value in there.items()}  # a proxy's password
        return holds(there), ", ".join(
            f"{name}={shown[name]}" if name in shown else f"{name} is not set" for name in names
        )

    return looked(scene, controller, Layer.CONTROLLERS, question)


# ---- network policies ----


def reaches_out(policies: Iterable[Manifest], address: str) -> str | None:
    """What lets all pods of a namespace reach an address outside of the cluster; None if nothing does.

    Only policies for all pods count: a tenant chooses the labels of its pods.
    """
    closing = [
        policy
        for policy in policies
        if "Egress" in policy["spec"].get("policyTypes", ()) and policy["spec"].get("podSelector") in ({}, None)
    ]
    if not closing:
        return "no NetworkPolicy restricts the egress of all pods"
    for policy in policies:
        for rule in policy["spec"].get("egress", ()):
            if "Egress" in policy["spec"].get("policyTypes", ("Egress",)) and _allows_address(rule, address):
                return f"the NetworkPolicy {policy['metadata']['name']} lets pods reach {address}"
    return None


def _allows_address(rule: Manifest, address: str) -> bool:
    peers = rule.get("to")
    if not peers:
        return True
    blocks = [peer["ipBlock"] for peer in peers if "ipBlock" in peer]
    return any(
        ip_address(address) in ip_network(block["cidr"])
        and not any(ip_address(address) in ip_network(each) for each in block.get("except", ()))
        for block in blocks
    )


def reaches_in(
    policies: Iterable[Manifest], pod: Mapping[str, str], ports: Sequence[object], namespace: Mapping[str, str]
) -> str | None:
    """What lets pods of another namespace reach a port of a pod; None if nothing does.

    Args:
        policies: NetworkPolicies of the pod's namespace.
        ports: the port by number and name.
        namespace: labels of the other namespace.
    """
    about = [
        policy
        for policy in policies
        if selects(policy["spec"].get("podSelector", {}), pod)
        and "Ingress" in policy["spec"].get("policyTypes", ("Ingress",))
    ]
    if not about:
        return "no NetworkPolicy selects it"
    for policy in about:
        for rule in policy["spec"].get("ingress", ()):
            open_ports = [each.get("port") for each in rule.get("ports", ())]
            of_port = not open_ports or any(port in open_ports for port in ports)
            if of_port and _allows_namespace(rule, namespace):
                return f"the NetworkPolicy {policy['metadata']['name']} lets the tenant's pods reach it"
    return None


def _allows_namespace(rule: Manifest, labels: Mapping[str, str]) -> bool:
    peers = rule.get("from")
    if not peers:
        return True
    # Pods may have any address, so a block counts as theirs.
    return any("ipBlock" in peer or selects(peer.get("namespaceSelector"), labels) for peer in peers)
