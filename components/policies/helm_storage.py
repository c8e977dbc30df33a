"""The policy about the size of Secrets in which Helm stores releases, which helm-controller loads into memory."""

from __future__ import annotations

from components.allowlists.cel import concatenated, text
from components.policies.config import PoliciesConfig
from components.policies.names import PolicyName
from components.policies.policy import Policy, Resources, Subject, Validation
from components.policies.request import ASK, OBJECT

# Helm finds the Secrets of a release by the label, and that of one revision by the name; it ignores the type.
# Source: pkg/storage/storage.go and pkg/storage/driver/secrets.go of Helm 4
_OWNER_LABEL, _OWNER = "owner", "helm"
_PREFIX = "sh.helm.release.v1."
_RELEASE = "object.?data.?release.orValue('')"
_KIBIBYTE = 1024


def release_size(config: PoliciesConfig) -> Policy:
    """No Secret of a Helm release is larger than the platform allows.

    It is compressed, so helm-controller, which all tenants share, may need a thousand times as much memory to read it.
    """
    most = config.maximum_release_size
    # Base64 has four characters for three bytes, with padding.
    characters = -(-most * _KIBIBYTE // 3) * 4
    return Policy(
        name=PolicyName.RELEASE_SIZE,
        refuses="Secrets of Helm releases that are too large for the controller that reads them",
        settings=("policies.maximumReleaseSize",),
        threats=(46,),
        subject=Subject.TENANTS,
        resources=(Resources("", ("secrets",)),),
        conditions={
            "of-a-release": f"object.metadata.?labels[?{text(_OWNER_LABEL)}].orValue('') == {text(_OWNER)} || "
            f"object.metadata.?name.orValue(object.metadata.?generateName.orValue('')).startsWith({text(_PREFIX)})",
        },
        variables={
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
                        f" KiB; at most {most} KiB are allowed, because helm-controller loads it into memory: split "
                        "the chart, or exclude files that it does not need with .helmignore"
                    ),
                    ASK,
                ),
            ),
        ),
    )
