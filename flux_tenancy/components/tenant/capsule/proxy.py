"""Syncs that reach the API server through capsule-proxy, which shows a tenant the cluster-scoped objects that are its.

Without it, Flux impersonates the tenant's service account at the API server itself, which is enough for everything but
listing namespaces. With it, Flux logs in at the proxy as that account, and then impersonates it there all the same, so
the account needs the right to impersonate itself.

Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#generic, clientForKubeConfig in
runtime/client/impersonator.go of github.com/fluxcd/pkg, and the guides for Flux of Capsule and capsule-addon-fluxcd
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flux_tenancy.components.rbac.subjects import rbac_binding, rbac_role, rbac_rule, user_of
from flux_tenancy.components.vocabulary.manifests import Manifest

if TYPE_CHECKING:
    from flux_tenancy.components.tenant.capsule.config import CapsuleProxy
    from flux_tenancy.components.vocabulary.object_meta import ObjectMeta

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
    return [*_config_map(tenant, meta, account, proxy), *rights]


def account_annotations(proxy: CapsuleProxy | None) -> dict[str, str]:
    """The annotations of the tenant's service account."""
    return {ADDON_ANNOTATION: "true"} if proxy is not None and proxy.addon else {}


def _config_map(tenant: str, meta: ObjectMeta, account: str, proxy: CapsuleProxy) -> list[Manifest]:
    if proxy.address is None:
        return []
    data = {"provider": "generic", "address": proxy.address, "serviceAccountName": account}
    if proxy.certificate_authority is not None:
        data["ca.crt"] = proxy.certificate_authority
    if proxy.audiences:
        # One a line. Source: utils/restconfig.go of github.com/fluxcd/pkg/auth
        data["audiences"] = "\n".join(proxy.audiences)
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta.metadata(_config_map_name(tenant)), "data": data}
    ]


def _config_map_name(tenant: str) -> str:
    return f"{tenant}-capsule-proxy"
