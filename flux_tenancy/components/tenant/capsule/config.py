"""Capsule: its names, its limits for tenants that make namespaces themselves, and how Flux uses capsule-proxy.

Source: pkg/api/meta and api/v1beta2 of Capsule 0.14

Without capsule-proxy, Flux impersonates the tenant's service account at the API server itself, which is enough for
everything but listing namespaces. With it, Flux logs in at the proxy as that account, and then impersonates it there
all the same, so the account needs the right to impersonate itself.

Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#generic, clientForKubeConfig in
runtime/client/impersonator.go of github.com/fluxcd/pkg, and the guides for Flux of Capsule and capsule-addon-fluxcd
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from flux_tenancy.components.config.errors import EXACTLY_ONE, MisplacedValueError
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import DnsLabel, Quantity, QuotaResource, WebUrl
from flux_tenancy.components.installs.capsule import CAPSULE_GROUP
from flux_tenancy.components.keys.signing_keys import CertificateAuthority
from flux_tenancy.components.rbac.subjects import rbac_binding, rbac_role, rbac_rule, user_of
from flux_tenancy.components.tenant.annotations import PREFIX
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import MANAGED_BY_LABEL

if TYPE_CHECKING:
    from flux_tenancy.components.vocabulary.names import ObjectMeta


CAPSULE_API = f"{CAPSULE_GROUP}/v1beta2"
TENANT, TENANT_OWNER, REPLICATION = "Tenant", "TenantOwner", "GlobalTenantResource"
TENANT_TYPE = f"kubernetes:{CAPSULE_API}:{TENANT}"

CAPSULE_TENANT_LABEL = f"{CAPSULE_GROUP}/tenant"
"""The label of each namespace of a Capsule Tenant, with its name."""
OWNER_OF_LABEL = "projectcapsule.dev/tenant"
"""The label of a TenantOwner with the name of the Tenant that it owns."""
NAMESPACE_READER = "flux-tenancy-own-namespace"
"""The ClusterRole to read the namespace that one is bound in: Flux waits for a namespace before it fills it."""
BOUND_BY_LABEL, BOUND_BY = "projectcapsule.dev/managed-by", "controller"
"""The label of the RoleBindings that Capsule makes of a Tenant."""

MADE_BY_TENANT = "capsule"
"""The value of the label `app.kubernetes.io/managed-by` on namespaces that tenants make themselves."""
SELF_MADE = {MANAGED_BY_LABEL: MADE_BY_TENANT}
OWNER = f"{PREFIX}owner"
"""The annotation of such a namespace with the user who may change and delete it."""
LIMIT_LABEL = f"{PREFIX}limit"
"""The label of each limit in such a namespace with its name, the same for all tenants."""
SETTINGS = f"{PREFIX}settings"
"""The annotation of such a namespace with the keys of all annotations that the platform sets on it."""

NODE_SELECTOR = "scheduler.alpha.kubernetes.io/node-selector"
"""Source: https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#podnodeselector"""
KEYS_OF_CAPSULE = (f"{CAPSULE_GROUP}/", "projectcapsule.dev/", NODE_SELECTOR)
"""What the keys of the labels and annotations begin with that Capsule puts on namespaces."""


def made_prefix(tenant: str) -> str:
    """What the names of the namespaces that a tenant makes begin with."""
    return f"{tenant}-"


class TenancyMode(StrEnum):
    """Who creates tenants' namespaces."""

    NAMESPACES = "namespaces"
    CAPSULE = "capsule"


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


ADDON_ANNOTATION = "capsule.addon.fluxcd/enabled"
"""The annotation of a service account that asks capsule-addon-fluxcd for a kubeconfig and for access to the proxy."""
_KEY = "kubeconfig"


def kube_config(tenant: str, account: str, proxy: CapsuleProxy | None) -> Manifest:
    """The field `kubeConfig` of a tenant's syncs, as an entry of their `spec`; nothing without a proxy."""
    if proxy is None:
        return {}
    if proxy.address is not None:
        return {"kubeConfig": {"configMapRef": {"name": _config_map_name(tenant)}}}
    name = f"{account}-{_KEY}" if proxy.addon else proxy.secret
    return {"kubeConfig": {"secretRef": {"name": name, "key": _KEY}}}


def proxy_objects(tenant: str, meta: ObjectMeta, account: str, proxy: CapsuleProxy | None) -> list[Manifest]:
    """The address of the proxy, without any credential, and the right that a login there needs.

    Args:
        proxy: the proxy, or None. The addon gives the right itself.
    """
    if proxy is None or proxy.addon:
        return []
    name = f"flux-tenancy-{tenant}-impersonator"
    own = {"kind": "ServiceAccount", "name": account, "namespace": meta.namespace}
    impersonates = rbac_rule("", ("users",), ("impersonate",), (user_of(meta.namespace, account),))
    metadata: Manifest = {"name": name, "labels": dict(meta.labels)}
    rights = [
        rbac_role("ClusterRole", metadata, [impersonates]),
        rbac_binding("ClusterRoleBinding", metadata, name, [own]),
    ]
    if proxy.address is None:
        return rights
    data = {"provider": "generic", "address": proxy.address, "serviceAccountName": account}
    if proxy.certificate_authority is not None:
        data["ca.crt"] = proxy.certificate_authority
    if proxy.audiences:
        # One a line. Source: utils/restconfig.go of github.com/fluxcd/pkg/auth
        data["audiences"] = "\n".join(proxy.audiences)
    metadata = meta.metadata(_config_map_name(tenant))
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}, *rights]


def _config_map_name(tenant: str) -> str:
    return f"{tenant}-capsule-proxy"
