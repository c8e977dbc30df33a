"""The policy about the size of Secrets in which Helm stores releases, which helm-controller loads into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import concatenated, text
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.policy import Policy, Resources, Subject, Validation
from flux_tenancy.components.policies.request import ASK, OBJECT

if TYPE_CHECKING:
    from flux_tenancy.components.policies.config import PoliciesConfig

# By what Helm finds the Secrets of a release: all by their labels, one revision by its name. It ignores the type.
# Source: pkg/storage/storage.go and pkg/storage/driver/secrets.go of Helm 4
_OWNER_LABEL, _OWNER = "owner", "helm"
_PREFIX, _TYPE = "sh.helm.release.v1.", "helm.sh/release.v1"
_LABELS = "object.metadata.?labels"
_NAME = "object.metadata.?name.orValue(object.metadata.?generateName.orValue(''))"
_RELEASE = "object.?data.?release.orValue('')"
_KIBIBYTE = 1024


def release_size(config: PoliciesConfig) -> Policy:
    """No Secret of a Helm release is larger than the platform allows, and each is recognised by its name and labels.

    It is compressed, so helm-controller, which all tenants share, may need a thousand times as much memory to read it.
    """
    most = config.maximum_release_size
    # Base64 has four characters for three bytes, with padding.
    characters = -(-most * _KIBIBYTE // 3) * 4
    return Policy(
        name=PolicyName.RELEASE_SIZE,
        refuses="Secrets of Helm releases that are too large for helm-controller's memory, or that have only some "
        "of the name, labels and type of Helm's release Secrets",
        settings=("policies.maximumReleaseSize",),
        threats=(46,),
        subject=Subject.TENANTS,
        resources=(Resources("", ("secrets",)),),
        conditions={
            "of-a-release": f"{_LABELS}[?{text(_OWNER_LABEL)}].orValue('') == {text(_OWNER)} || "
            f"{_NAME}.startsWith({text(_PREFIX)}) || object.?type.orValue('') == {text(_TYPE)}",
        },
        variables={
            "labels": f"{_LABELS}.orValue({{}})",
            "characters": f"size({_RELEASE})",
            "kibibytes": f"string(variables.characters * 3 / 4 / {_KIBIBYTE})",
        },
        validations=(
            Validation(
                f"variables.characters <= {characters}",
                concatenated(
                    OBJECT,
                    text(": the stored release has "),
                    "variables.kibibytes",
                    text(
                        f" KiB; the maximum is {most} KiB, because helm-controller loads it into memory: split the "
                        "chart, or exclude unneeded files with .helmignore"
                    ),
                    ASK,
                ),
            ),
            Validation(
                f"object.?type.orValue('') == {text(_TYPE)} && "
                f"variables.labels[?{text(_OWNER_LABEL)}].orValue('') == {text(_OWNER)} && "
                f"{_NAME} == {text(_PREFIX)} + variables.labels[?'name'].orValue('') + '.v' + "
                "variables.labels[?'version'].orValue('')",
                concatenated(
                    OBJECT,
                    text(
                        f": Helm's release Secrets have the label {_OWNER_LABEL}: {_OWNER}, the type {_TYPE}, and "
                        f"the name {_PREFIX}<name>.v<version>, as in their labels name and version; set all three, "
                        "or none of them"
                    ),
                ),
            ),
        ),
    )
