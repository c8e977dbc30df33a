"""What a tenant may do by itself in a stack with `tenancy.mode: capsule`."""

from __future__ import annotations

from pydantic import Field, model_validator

from flux_tenancy.components.config.errors import EXACTLY_ONE, MisplacedValueError
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import DnsLabel, Quantity, QuotaResource, WebUrl
from flux_tenancy.components.keys.types import CertificateAuthority


class CapsuleLimits(Section):
    """Capsule's limits for a tenant in all of its namespaces except its home. By default, all classes are allowed."""

    namespaces: int = Field(5, ge=1, description="Maximum number of namespaces in addition to the home.")
    quota: dict[QuotaResource, Quantity] = Field(
        default_factory=dict, description="`hard` of a quota that these namespaces share, e.g. `pods: 100`."
    )
    node_selector: dict[str, str] = Field(
        default_factory=dict,
        description="Labels of the nodes for these Pods; needs the admission plugin PodNodeSelector.",
    )
    storage_classes: tuple[str, ...] | None = Field(None, min_length=1, description="Allowed storage classes.")
    ingress_classes: tuple[str, ...] | None = Field(None, min_length=1, description="Allowed ingress classes.")
    priority_classes: tuple[str, ...] | None = Field(None, min_length=1, description="Allowed priority classes.")
    runtime_classes: tuple[str, ...] | None = Field(None, min_length=1, description="Allowed runtime classes.")

    def over(self, defaults: CapsuleLimits) -> CapsuleLimits:
        """These limits, and the defaults where this sets none."""
        return defaults.model_copy(update={name: getattr(self, name) for name in self.model_fields_set})


class CapsuleProxy(Section):
    """How Flux reaches the API server through capsule-proxy; exactly one of `address`, `secret` and `addon`."""

    address: WebUrl | None = Field(
        None,
        description=(
            "Address of the proxy, e.g. `https://capsule-proxy.capsule-system.svc:9001`. Flux logs in "
            "with short-lived tokens; needs `flux.workloadIdentity`."
        ),
    )
    certificate_authority: CertificateAuthority | None = Field(
        None, description="Authority of the proxy's certificate."
    )
    audiences: tuple[str, ...] = Field(
        (), description="Audiences of the tokens that the proxy expects; defaults to the address."
    )
    secret: DnsLabel | None = Field(
        None, description="Your Secret in each tenant's home with a kubeconfig for the proxy (key `kubeconfig`)."
    )
    addon: bool = Field(False, description="Whether capsule-addon-fluxcd writes such a Secret for each tenant.")

    @model_validator(mode="after")
    def _one_way(self) -> CapsuleProxy:
        if [self.address is not None, self.secret is not None, self.addon].count(True) != 1:
            raise ValueError(EXACTLY_ONE(keys="address, secret and addon"))
        if self.address is not None and not self.address.startswith("https://"):
            raise MisplacedValueError(
                ("address",), Message("FT-CFG-826", "is not encrypted, but Flux sends tokens to it", "use https://")
            )
        return self


class CapsuleTenancy(CapsuleLimits):
    """Capsule's limits and settings for all tenants."""

    proxy: CapsuleProxy | None = Field(
        None, description="capsule-proxy for tenants' syncs, by `address`, `secret` or `addon`; none by default."
    )
