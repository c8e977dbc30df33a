"""The product. The names below are for Pulumi programs of your own (dev/docs/components.md).

They are imported when they are first used, so that a command does not wait for Pulumi.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flux_tenancy.components.installs.flux.component import FluxInstall
    from flux_tenancy.components.installs.kyverno import KyvernoInstall
    from flux_tenancy.components.policies.component import KyvernoPolicies, NativePolicies
    from flux_tenancy.components.tenant.component import Tenant

__all__ = ["FluxInstall", "KyvernoInstall", "KyvernoPolicies", "NativePolicies", "Tenant"]

_MODULES = {
    "FluxInstall": "installs.flux.component",
    "KyvernoInstall": "installs.kyverno",
    "KyvernoPolicies": "policies.component",
    "NativePolicies": "policies.component",
    "Tenant": "tenant.component",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.components.{_MODULES[name]}"), name)
