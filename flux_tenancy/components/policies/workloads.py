"""Policies about workloads: their exposure, their access to nodes, their priority and their images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import boolean, concatenated, joined, text, texts
from flux_tenancy.components.allowlists.image_patterns import (
    BY_DIGEST,
    COMPARABLE_IMAGE,
    IMAGE_PATTERN,
    repository_expression,
)
from flux_tenancy.components.policies.exceptions import GRANTED_TYPES, OR_GRANTED_TYPE
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.pods import LEVEL, POD, PODS, WORKLOADS, of_pod
from flux_tenancy.components.policies.policy import Policy, Resources, Subject, Validation
from flux_tenancy.components.policies.rendering import changes
from flux_tenancy.components.policies.request import ASK, ENTRIES_OR_NONE, STARTS, TENANT, listed, unrestricted
from flux_tenancy.components.tenant.annotations import IMAGES

if TYPE_CHECKING:
    from flux_tenancy.components.policies.config import AllowedImages, PoliciesConfig

# Capabilities that Pod Security lets containers add. Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/
_RESTRICTED_CAPABILITIES = ("NET_BIND_SERVICE",)
_BASELINE_CAPABILITIES = (
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
)
_SERVICE_TYPE = "object.spec.?type.orValue('ClusterIP')"


def service_exposure(config: PoliciesConfig, *, with_grants: bool = False) -> Policy:
    """Services are exposed only as the platform allows.

    Args:
        config: the stack's policies.
        with_grants: whether a tenant has been granted a type.
    """
    is_allowed, variables = f"variables.type in {texts(config.service_types)}", {"type": _SERVICE_TYPE}
    shown = [text(f" is not allowed; use one of these: {', '.join(config.service_types)}")]
    if with_grants:
        variables["granted"] = GRANTED_TYPES
        is_allowed += OR_GRANTED_TYPE
        shown.append("variables.granted.map(type, ', ' + type).join('')")
    return Policy(
        name=PolicyName.SERVICE_EXPOSURE,
        refuses="Services of a type that is not allowed, with `externalIPs` or with an address of a load balancer",
        settings=("policies.serviceTypes",),
        threats=(20,),
        subject=Subject.CONTENT,
        resources=(Resources("", ("services",)),),
        variables=variables,
        validations=(
            Validation(
                is_allowed,
                concatenated(text("spec.type "), "variables.type", *shown, ASK),
            ),
            Validation(
                "size(object.spec.?externalIPs.orValue([])) == 0",
                text("spec.externalIPs could take over another tenant's traffic; remove it"),
            ),
            Validation(
                f"{boolean('LoadBalancer' in config.service_types)} || object.spec.?loadBalancerIP.orValue('') == ''",
                concatenated(text("spec.loadBalancerIP is not allowed; remove it"), ASK),
            ),
        ),
    )


def host_access() -> Policy:
    """Pods have no access to their node, except in namespaces with the Pod Security level `privileged`."""
    return Policy(
        name=PolicyName.HOST_ACCESS,
        refuses="pods and pod templates that share the node's network, processes, folders or ports, are privileged, "
        "add capabilities beyond their namespace's Pod Security level, or set their node's name; namespaces with the "
        "level `privileged` are not checked",
        threats=(19,),
        subject=Subject.CONTENT,
        resources=WORKLOADS,
        reads=POD,
        variables={
            # Match conditions see no namespace.
            "level": LEVEL,
        }
        | PODS
        | {
            "pod": f"variables.level == 'privileged' ? {{}} : {PODS['pod']}",
            "capabilities": "variables.level == 'baseline' "
            f"? {texts(_BASELINE_CAPABILITIES)} : {texts(_RESTRICTED_CAPABILITIES)}",
            "added": "variables.containers.map(container, "
            "container.?securityContext.?capabilities.?add.orValue([]))"
            ".map(names, names.filter(name, !(name in variables.capabilities)).join(', ')).filter(names, names != '')",
        },
        validations=(
            # Windows HostProcess containers require hostNetwork.
            *(_unset(name) for name in ("hostNetwork", "hostPID", "hostIPC")),
            Validation(
                "!variables.volumes.exists(volume, has(volume.hostPath))",
                of_pod(
                    "volumes[].hostPath: ",
                    joined("variables.volumes.filter(volume, has(volume.hostPath)).map(volume, volume.hostPath.path)"),
                    " is a folder of the node; use a PersistentVolumeClaim, an emptyDir or a ConfigMap",
                ),
            ),
            _no_container(
                "container.?securityContext.?privileged.orValue(false)",
                "securityContext.privileged",
                "has full access to the node; remove it",
            ),
            Validation(
                "size(variables.added) == 0",
                of_pod(
                    "containers[].securityContext.capabilities.add: ",
                    joined("variables.added"),
                    " is not allowed; allowed: ",
                    joined("variables.capabilities"),
                ),
            ),
            _no_container(
                "container.?ports.orValue([]).exists(port, port.?hostPort.orValue(0) != 0)",
                "ports[].hostPort",
                "takes a port of the node; use a Service or an Ingress",
            ),
            # Only the scheduler sets nodeName; a pod that sets it itself bypasses taints.
            Validation(
                "(object.kind == 'Pod' && request.operation == 'UPDATE') || variables.pod.?nodeName.orValue('') == ''",
                of_pod("nodeName ", "variables.pod.nodeName", " bypasses the scheduler; use a nodeSelector"),
            ),
        ),
    )


def priority_classes(config: PoliciesConfig) -> Policy:
    """A tenant uses only the priority classes that the platform lists.

    The API server sets the cluster's default class on a pod before admission. So the policy does not check pods that
    controllers create from templates, and a default class must be listed for tenants that create pods by hand.
    """
    return Policy(
        name=PolicyName.PRIORITY_CLASSES,
        refuses="pods and pod templates with a priority class that is not listed; a cluster's default class must be "
        "listed for tenants that create pods by hand",
        settings=("policies.priorityClasses",),
        threats=(20,),
        subject=Subject.TENANTS,
        resources=WORKLOADS,
        conditions={"changes-pods": changes(POD)},
        variables=PODS | {"class": "variables.pod.?priorityClassName.orValue('')"},
        validations=(
            Validation(
                f"variables.class in {texts(('', *config.priority_classes))}",
                of_pod(
                    "priorityClassName ",
                    "variables.class",
                    " is not allowed; remove it"
                    + (
                        f" or use one of these: {', '.join(config.priority_classes)}" if config.priority_classes else ""
                    ),
                    ASK,
                ),
            ),
        ),
    )


def allowed_images(config: AllowedImages) -> Policy:
    """Every image is on the stack's or the tenant's list."""
    any_image = unrestricted(IMAGES, config.allowed)
    return Policy(
        name=PolicyName.ALLOWED_IMAGES,
        refuses="images that are on neither the stack's nor the tenant's allow-list, or that are referenced by tag "
        "where digests are required",
        settings=(
            "policies.images.allowed",
            "policies.images.digests",
            "tenant: policies.images",
        ),
        threats=(13,),
        subject=Subject.CONTENT,
        resources=WORKLOADS,
        reads=POD,
        variables=PODS
        | {
            "images": "variables.containers.map(container, container.?image.orValue('')) + "
            "variables.volumes.filter(volume, has(volume.image)).map(volume, volume.image.?reference.orValue(''))",
            "entries": f"({texts(config.allowed or ())} + {listed(IMAGES)})"
            f".filter(entry, entry.matches({text(IMAGE_PATTERN)}))",
            "below": f"variables.entries{STARTS}",
            "foreign": f"variables.images.filter(name, !name.matches({text(COMPARABLE_IMAGE)}) || "
            f"![name]{repository_expression()}.exists(image, image in variables.entries || "
            "variables.below.exists(start, image.startsWith(start))))",
            "undigested": f"variables.images.filter(name, !name.matches({text(BY_DIGEST)}))",
        },
        validations=(
            Validation(
                f"{any_image} || size(variables.foreign) == 0",
                of_pod(
                    "containers[].image: ",
                    joined("variables.foreign"),
                    " is not an allowed image for tenant ",
                    TENANT,
                    text("; allowed: "),
                    ENTRIES_OR_NONE,
                    text("; use one of these, or ask the platform team to add it to the tenant's policies.images"),
                ),
            ),
            Validation(
                f"{boolean(not config.digests)} || size(variables.undigested) == 0",
                of_pod(
                    "containers[].image: ",
                    joined("variables.undigested"),
                    " is referenced by tag, which can move; use its digest: name@sha256:...",
                ),
            ),
        ),
    )


def _unset(name: str) -> Validation:
    return Validation(
        f"!variables.pod.?{name}.orValue(false)",
        of_pod(name, "''", " breaks the pod's isolation from the node; remove it"),
    )


def _no_container(condition: str, field: str, why: str) -> Validation:
    return Validation(
        f"!variables.containers.exists(container, {condition})",
        of_pod(
            f"containers[].{field} of ",
            joined(f"variables.containers.filter(container, {condition}).map(container, container.name)"),
            f" {why}",
        ),
    )
