"""Tenant: a team's namespaces, limits, identity, access and sync, and what becomes of them when it leaves.

Put here what one tenant has; what no tenant may do is a policy.
"""

from flux_tenancy.components.tenant.component import Tenant, TenantArgs
from flux_tenancy.components.tenant.config import TenantConfig
from flux_tenancy.components.tenant.tenancy_config import TenancyConfig

__all__ = ["TenancyConfig", "Tenant", "TenantArgs", "TenantConfig"]
