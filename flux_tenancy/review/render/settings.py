"""The settings of the admission policies of a stack, as plain data beside the objects of its render."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from flux_tenancy.components.policies.config import PoliciesConfig
from flux_tenancy.components.stack.policy_engines import relaxed_by
from flux_tenancy.components.tenant.annotations import NAMESPACES, namespace_lists
from flux_tenancy.components.tenant.config import TenantConfig
from flux_tenancy.components.tenant.tenancy_config import TenancyConfig

# The policies read these keys of `tenancy`; what else is in the section shows in other objects.
_OF_TENANCY: Any = {"mode": True, "kinds": True, "extra_rules": True, "capsule": {"proxy"}}


class AdmissionSettings(BaseModel):
    """What decides about the admission policies.

    Attributes:
        stack: the sections `policies` and `tenancy` with their defaults; keys as in the stack file.
        relaxed: names of the policies that exempt what the stack declares for its tenants.
        namespaces: the lists of each tenant's namespace by annotation (`components.tenant.annotations`), except for
            its other namespaces, which show in its access.
    """

    model_config = ConfigDict(frozen=True)

    stack: Mapping[str, Any]
    relaxed: tuple[str, ...]
    namespaces: Mapping[str, Mapping[str, tuple[str, ...]]]

    @classmethod
    def of(
        cls, policies: PoliciesConfig, tenancy: TenancyConfig, tenants: Mapping[str, TenantConfig]
    ) -> AdmissionSettings:
        """The settings of a stack with these sections."""
        lists = {
            namespace: namespace_lists(tenant, tenant.grants_in(namespace))
            for tenant in tenants.values()
            for namespace in tenant.namespace_names
        }
        return cls(
            stack={
                "policies": policies.model_dump(mode="json", by_alias=True),
                "tenancy": tenancy.model_dump(mode="json", by_alias=True, include=_OF_TENANCY),
            },
            relaxed=tuple(sorted(relaxed_by(tenants.values(), policies))),
            namespaces={
                namespace: {key: tuple(entries) for key, entries in found.items() if key != NAMESPACES}
                for namespace, found in lists.items()
            },
        )
