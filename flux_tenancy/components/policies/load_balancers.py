"""The policy about Services of the type LoadBalancer: which type is allowed is a matter of `service-exposure`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import concatenated, joined, text, texts
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.policy import Policy, Resources, Subject, Validation
from flux_tenancy.components.policies.request import APPLIED_KEYS, ASK, STARTS
from flux_tenancy.components.policies.reserved import OWNERS, annotations_of
from flux_tenancy.components.tenant.annotations import WITHOUT_GRANTS

if TYPE_CHECKING:
    from flux_tenancy.components.policies.config import PoliciesConfig

_IS_BALANCED = "{}.spec.?type.orValue('') == 'LoadBalancer'"
_PORTS = "{}.spec.?ports.orValue([]).map(port, port.?nodePort.orValue(0))"
# Admission sees ports that the API server has allocated. Only those that somebody has chosen are owned.
_CHOSEN = (
    f"object.{OWNERS}.map(owner, dyn(owner.?fieldsV1.orValue({{}}))).exists(fields, "
    f"fields[?{text('f:spec')}][?{text('f:healthCheckNodePort')}].hasValue() || "
    f"fields[?{text('f:spec')}][?{text('f:ports')}].orValue({{}}).exists(key, "
    f"fields[{text('f:spec')}][{text('f:ports')}][key][?{text('f:nodePort')}].hasValue()))"
)


def load_balancers(config: PoliciesConfig) -> Policy:
    """A tenant gets a load balancer as the platform's controller makes it, without settings of its own choice.

    Annotations of load balancers choose addresses, networks, certificates and host names, with the rights of the
    cloud's controller. Each controller has its own, so only those are allowed that the platform lists.
    """
    return Policy(
        name=PolicyName.LOAD_BALANCERS,
        refuses="Services of the type LoadBalancer with a node port or a class that the tenant chose, or with "
        "annotations that are not listed",
        settings=("policies.serviceAnnotations", "policies.loadBalancerClasses"),
        threats=(20,),
        subject=Subject.TENANTS,
        resources=(Resources("", ("services",)),),
        conditions={"load-balancer": _IS_BALANCED.format("object")},
        variables={
            "was": f"request.operation == 'UPDATE' && {_IS_BALANCED.format('oldObject')}",
            "before": f"variables.was ? {annotations_of('oldObject')} : {{}}",
            "after": annotations_of("object"),
            "entries": texts(config.service_annotations),
            "starts": f"variables.entries{STARTS}",
            "foreign": "variables.after.filter(key, !(key in variables.before && variables.before[key] == "
            f"variables.after[key]) && !(key in variables.entries) && key != {text(WITHOUT_GRANTS)} && "
            f"!({texts(APPLIED_KEYS)} + variables.starts).exists(start, key.startsWith(start)))",
            "class": "object.spec.?loadBalancerClass.orValue('')",
            "known_ports": f"[0] + (variables.was ? {_PORTS.format('oldObject')} : [])",
            # Without owners, as somebody may leave an object, nobody can tell who chose a port.
            "chosen": f"({_CHOSEN}) || size(object.{OWNERS}) == 0 && "
            f"!{_PORTS.format('object')}.all(port, port in variables.known_ports)",
        },
        validations=(
            Validation(
                "size(variables.foreign) == 0",
                concatenated(
                    text("metadata.annotations: "),
                    joined("variables.foreign"),
                    text(" is not allowed on a Service of type LoadBalancer; remove it"),
                    ASK,
                    text(" (policies.serviceAnnotations)"),
                ),
            ),
            Validation(
                f"variables.class in {texts(('', *config.load_balancer_classes))}",
                concatenated(
                    text("spec.loadBalancerClass "),
                    "variables.class",
                    text(" is not allowed; remove it"),
                    ASK,
                    text(" (policies.loadBalancerClasses)"),
                ),
            ),
            Validation(
                "!variables.chosen",
                concatenated(
                    text("Kubernetes chooses spec.ports[].nodePort and spec.healthCheckNodePort; remove them"),
                    ASK,
                ),
            ),
        ),
    )
