"""Policies about a tenant's storage: new volumes only, never one with another tenant's data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import concatenated, joined, text, texts
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.pods import CLAIMS_OF_VOLUMES, LEVEL, POD, PODS, WORKLOADS, of_pod
from flux_tenancy.components.policies.policy import Policy, Resources, Subject, Validation
from flux_tenancy.components.policies.rendering import changes
from flux_tenancy.components.policies.request import ASK

if TYPE_CHECKING:
    from flux_tenancy.components.policies.config import PoliciesConfig

_CLAIM = "PersistentVolumeClaim"
# Overrides the newer field.
# Source: https://kubernetes.io/docs/concepts/storage/persistent-volumes/#class
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
# Not a valid name of a class.
_UNSET = "-"
# Users that create claims from templates in StatefulSets and pods, with and without an account for each controller.
_CLAIM_MAKERS = (
    "system:serviceaccount:kube-system:statefulset-controller",
    "system:serviceaccount:kube-system:ephemeral-volume-controller",
    "system:kube-controller-manager",
)

# What the Pod Security level `restricted` allows, and what the policy `host-access` checks.
# Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/
_VOLUME_TYPES = (
    "name",
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "hostPath",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
)


def volume_claims(config: PoliciesConfig) -> Policy:
    """A tenant gets new volumes; it cannot claim an existing one, which may hold another tenant's data.

    Kubernetes' own binder names the volume of a claim, so the policy checks only what tenants write.
    """
    return Policy(
        name=PolicyName.VOLUME_CLAIMS,
        refuses="volume claims and claim templates that bind an existing volume: by name, by selector, by an empty "
        "class, or without a class where the cluster has no default class; and classes that are not listed",
        settings=("policies.storageClasses",),
        threats=(20, 34),
        subject=Subject.TENANTS,
        resources=(Resources("", ("persistentvolumeclaims",)), *WORKLOADS),
        variables=PODS
        | {
            # A bound claim has its volume's name; resizing it does not claim another. The claim templates of a
            # StatefulSet never change.
            "claims": f"object.kind == {text(_CLAIM)} "
            "? (request.operation == 'UPDATE' && "
            "object.spec.?volumeName.orValue('') == oldObject.spec.?volumeName.orValue('') && "
            f"{_class('object')} == {_class('oldObject')} ? [] : [object]) "
            ": (object.kind == 'StatefulSet' && request.operation == 'CREATE' "
            "? object.spec.?volumeClaimTemplates.orValue([]) : []) "
            f"+ variables.volumes{CLAIMS_OF_VOLUMES}",
            "classes": f"variables.claims.map(claim, {_class('claim')})",
        },
        conditions={"changes-claims": f"object.kind == {text(_CLAIM)} || {changes(POD)}"},
        validations=(
            Validation(
                "!variables.claims.exists(claim, claim.spec.?volumeName.orValue('') != '')",
                concatenated(
                    text("volumeName "),
                    joined(
                        "variables.claims.filter(claim, claim.spec.?volumeName.orValue('') != '')"
                        ".map(claim, claim.spec.volumeName)"
                    ),
                    text(" selects an existing volume; remove it to get a new volume"),
                    ASK,
                ),
            ),
            Validation(
                "!variables.claims.exists(claim, has(claim.spec.selector)) && !('' in variables.classes)",
                concatenated(
                    text(
                        "a volume claim with a selector, or with an empty class (storageClassName or the "
                        f"annotation {_CLASS_ANNOTATION}), binds an existing volume; remove these fields to get a "
                        "new volume"
                    ),
                    ASK,
                ),
            ),
            _has_a_class(f"object.kind == {text(_CLAIM)}"),
            *_allowed_classes(config),
        ),
    )


def volume_classes(config: PoliciesConfig) -> Policy:
    """Claims that Kubernetes creates from templates have an allowed class, though a template need not name one.

    The default class is set when Kubernetes itself creates the claim, which `volume_claims` does not check. An empty
    class is not checked again: a template with one was already refused.
    """
    return Policy(
        name=PolicyName.VOLUME_CLASSES,
        refuses="claims that Kubernetes creates from templates in StatefulSets and pods, without a class where the "
        "cluster has no default class, or with a class that is not listed",
        settings=("policies.storageClasses",),
        threats=(34,),
        subject=Subject.CONTENT,
        resources=(Resources("", ("persistentvolumeclaims",), ("CREATE",)),),
        conditions={"made-for-a-template": f"request.userInfo.username in {texts(_CLAIM_MAKERS)}"},
        variables={"classes": f"object.spec.?volumeName.orValue('') == '' ? [{_class('object')}] : []"},
        validations=(_has_a_class(), *_allowed_classes(config)),
    )


def pod_volumes(config: PoliciesConfig) -> Policy:
    """A pod mounts objects of its namespace, and storage only by claims, which quotas and classes limit."""
    types = texts((*_VOLUME_TYPES, *config.volume_types))
    return Policy(
        name=PolicyName.POD_VOLUMES,
        refuses="inline volumes of pods and pod templates: of a CSI driver that is not listed, or network storage; "
        "namespaces with the Pod Security level `privileged` are not checked",
        settings=("policies.csiDrivers", "policies.volumeTypes"),
        threats=(34, 41),
        subject=Subject.CONTENT,
        resources=WORKLOADS,
        reads=POD,
        variables=PODS
        | {
            "pod": f"{LEVEL} == 'privileged' ? {{}} : {PODS['pod']}",
            "drivers": "variables.volumes.filter(volume, has(volume.csi) && "
            f"!(volume.csi.driver in {texts(config.csi_drivers)})).map(volume, volume.csi.driver)",
            "types": "variables.volumes.map(volume, volume.filter(key, "
            f"!(key in {types})).map(key, string(key)).join(', ')).filter(found, found != '')",
        },
        validations=(
            Validation(
                "size(variables.drivers) == 0",
                of_pod(
                    "volumes[].csi.driver: ",
                    joined("variables.drivers"),
                    f" is not allowed; allowed: {', '.join(config.csi_drivers) or 'none'}; use a PersistentVolumeClaim",
                    ASK,
                ),
            ),
            Validation(
                "size(variables.types) == 0",
                of_pod(
                    "volumes[].",
                    joined("variables.types"),
                    " uses existing storage; use a PersistentVolumeClaim instead",
                    ASK,
                ),
            ),
        ),
    )


def _class(claim: str) -> str:
    """CEL for the effective class of a claim or of its template."""
    return (
        f"{claim}.?metadata.?annotations[?{text(_CLASS_ANNOTATION)}]"
        f".orValue({claim}.spec.?storageClassName.orValue({text(_UNSET)}))"
    )


def _has_a_class(applies: str = "true") -> Validation:
    """The cluster's default class, if any, is set before this check."""
    return Validation(
        f"!({applies}) || !({text(_UNSET)} in variables.classes)",
        concatenated(
            text(
                "a volume claim without a storageClassName binds an existing volume, because the cluster has no "
                "default class; set a class to get a new volume"
            ),
            ASK,
        ),
    )


def _allowed_classes(config: PoliciesConfig) -> tuple[Validation, ...]:
    if config.storage_classes is None:
        return ()
    allowed = texts(("", _UNSET, *config.storage_classes))
    return (
        Validation(
            f"variables.classes.all(class, class in {allowed})",
            concatenated(
                text("storageClassName "),
                joined(f"variables.classes.filter(class, !(class in {allowed}))"),
                text(f" is not allowed; use one of these: {', '.join(config.storage_classes) or 'none'}"),
                ASK,
            ),
        ),
    )
