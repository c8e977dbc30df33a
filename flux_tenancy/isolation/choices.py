"""What a user chooses from. Only the standard library is imported here, so that help and completion answer at once."""

from __future__ import annotations

from enum import StrEnum


class Layer(StrEnum):
    """What refuses an attempt; reports and `--without` use the values."""

    ROLE = "role"
    """RBAC: the rights of the tenant's account, or of a controller's."""
    POD_SECURITY = "pod-security"
    ADMISSION = "admission"
    """ValidatingAdmissionPolicies, and webhooks such as Kyverno's."""
    QUOTA = "quota"
    """ResourceQuotas and LimitRanges."""
    FLUX = "flux"
    """Flags of Flux's controllers."""
    CONTROLLERS = "controllers"
    """Environment and rights of Flux's controllers: what a tenant's content can do with them."""
    NETWORK = "network"
    """NetworkPolicies."""


class Profile(StrEnum):
    """What is intended for every tenant of a cluster; docs/security.md says the same in words."""

    BASELINE = "baseline"
    RESTRICTED = "restricted"
