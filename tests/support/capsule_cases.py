"""Requests about namespaces that tenants make themselves, beside the table of policies (`policy_cases`).

What Capsule's webhooks change in a request comes before the policies: here the objects are as it leaves them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flux_tenancy.components.policies.config import PoliciesConfig, PolicyEngine
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.policies.table import PolicySet, policy_set
from flux_tenancy.components.tenant.capsule.config import CAPSULE_TENANT_LABEL, OWNER
from flux_tenancy.components.tenant.capsule.objects import made_metadata
from flux_tenancy.components.tenant.config import TenancyConfig, TenantConfig
from flux_tenancy.components.vocabulary.manifests import merge_patch
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from tests.support.policy_cases import (
    APPS,
    CONFIGS,
    FOREIGN,
    NAMESPACE_OBJECTS,
    ONE_ACCOUNT_OF,
    RELAXED,
    TENANT,
    Case,
    Object,
    User,
    _Cases,
    account,
    binding,
    kustomization,
    made,
    release,
)
from tests.support.policy_requests import RBAC, USERS, bound, definition

CONFIG = "makes namespaces"
"""The configuration under which these requests are made."""
TENANCY = TenancyConfig.model_validate(
    {"mode": "capsule", "capsule": {"proxy": {"address": "https://capsule-proxy.capsule-system.svc:9001"}}}
)
_CONFIG = TenantConfig.model_validate(
    {
        "namespaces": [{"name": APPS}],
        "source": {"url": "https://git.example.com/org/app"},
        "policies": {"images": ["registry.example.com/org/*"]},
    }
)


def namespace(name: str = f"{TENANT}-web", labels: Object | None = None, annotations: Object | None = None) -> Object:
    """A namespace as Capsule leaves one that the tenant makes; None in the metadata removes an entry."""
    own_labels, own_annotations = made_metadata(TENANT, _CONFIG, _CONFIG.capsule, "maker", "default")
    whole = {"labels": own_labels | {CAPSULE_TENANT_LABEL: TENANT}, "annotations": own_annotations}
    metadata = merge_patch(whole, {"labels": labels or {}, "annotations": annotations or {}})
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name} | metadata}


def change(**metadata: Any) -> Object:
    return {"metadata": metadata}


UNLABELED: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}
MADE = namespace(f"{TENANT}-made")
NAMESPACES = {MADE["metadata"]["name"]: MADE}
"""The namespaces that these cases need, by name."""


def access() -> Iterator[Object]:
    """The rights that Capsule gives to the owner of a Tenant, and a person in a namespace that it has made."""
    subject = account("maker")
    # Capsule gives no right to the status; so the policy is asked about it.
    everywhere = {"apiGroups": [""], "resources": ["namespaces", "namespaces/status"], "verbs": ["create", "patch"]}
    yield RBAC | {"kind": "ClusterRole", "metadata": {"name": "provisioner"}, "rules": [everywhere]}
    yield bound("ClusterRoleBinding", {"name": "provisioner"}, "provisioner", subject)
    own = {"name": "owner", "namespace": MADE["metadata"]["name"]}
    yield RBAC | {"kind": "ClusterRole", "metadata": {"name": "deleter"}, "rules": [everywhere | {"verbs": ["delete"]}]}
    yield bound("RoleBinding", own, "deleter", subject)
    yield bound("RoleBinding", own | {"name": "member"}, "cluster-admin", {"kind": "User", "name": USERS[User.MEMBER]})


def _namespaces() -> list[Case]:
    cases = _Cases(PolicyName.TENANT_NAMESPACE, CONFIG, User.MAKER)
    cases.good("a namespace of the tenant's own", namespace())
    flux = {"kustomize.toolkit.fluxcd.io/name": TENANT, "app.kubernetes.io/name": "web"}
    cases.good("as Flux and Helm label it", namespace(labels=flux, annotations={"meta.helm.sh/release-name": "web"}))
    name = "lacks this tenant's name prefix or labels; choose a name that starts with dev-team-"
    cases.bad("another's name", namespace("other-web"), name)
    cases.bad("another level", namespace(labels={"pod-security.kubernetes.io/enforce": "privileged"}), name)
    cases.bad("no warning", namespace(labels={"pod-security.kubernetes.io/warn": None}), name)
    cases.bad("another's tenant", namespace(labels={TENANT_LABEL: FOREIGN}), name.partition(";")[0])
    cases.bad("another's in Capsule", namespace(labels={CAPSULE_TENANT_LABEL: FOREIGN}), name)
    whose = "was not created by this tenant"
    cases.bad("as the stack's own", namespace(labels={"app.kubernetes.io/managed-by": "flux-tenancy"}), whose)
    cases.bad("without a tenant", UNLABELED, whose)
    cases.bad("another's owner", namespace(annotations={OWNER: "system:serviceaccount:other:other"}), whose)
    only = "only the platform sets "
    exceptions = {"flux-tenancy/exceptions": "host-access"}
    for place, name in ONE_ACCOUNT_OF.items():
        user = f"system:serviceaccount:{place}:{name}"
        cases.bad(f"owned by {user}", namespace(annotations={OWNER: user}), whose)
    cases.bad("an exception", namespace(annotations=exceptions), f"{only}flux-tenancy/exceptions")
    cases.bad("a node", namespace(annotations={"scheduler.alpha.kubernetes.io/node-selector": "a=b"}), only)
    cases.bad("a label that others select", namespace(labels={"istio-injection": "disabled"}), f"{only}istio-injection")

    own = {"apiVersion": "capsule.clastix.io/v1beta2", "kind": "Tenant", "name": TENANT, "uid": "its-own"}
    cases.good("owned by the tenant's Tenant", merge_patch(namespace(), {"metadata": {"ownerReferences": [own]}}))
    held = "only the platform sets finalizers and owner references; remove them"
    for what, more in {
        "held from the start": {"metadata": {"finalizers": ["example.com/hold"]}},
        "held from the start by its spec": {"spec": {"finalizers": ["kubernetes", "example.com/hold"]}},
        "another tenant's from the start": {"metadata": {"ownerReferences": [own, own | {"name": FOREIGN}]}},
        "another kind's from the start": {
            "metadata": {"ownerReferences": [own | {"apiVersion": "v1", "kind": "Node"}]}
        },
    }.items():
        cases.bad(what, merge_patch(namespace(), more), held)

    free = change(labels={"app.kubernetes.io/part-of": "shop"})
    cases.good("its own label", free, old=MADE)
    cases.good("nothing", change(), old=MADE)
    cases.good("deleted", {}, old=MADE, operation="DELETE")
    cases.bad("a higher level", change(labels={"pod-security.kubernetes.io/enforce": "baseline"}), only, old=MADE)
    cases.bad("no tenant", change(labels={TENANT_LABEL: None}), f"{only}{TENANT_LABEL}", old=MADE)
    cases.bad("no longer self-made", change(labels={"app.kubernetes.io/managed-by": "flux-tenancy"}), only, old=MADE)
    images = change(annotations={"flux-tenancy/images": "registry.example.com/*"})
    cases.bad("more images", images, f"{only}flux-tenancy/images", old=MADE)
    owner = {"apiVersion": "capsule.clastix.io/v1beta2", "kind": "Tenant", "name": FOREIGN, "uid": "forged"}
    cases.bad("another owner", change(ownerReferences=[owner]), held, old=MADE)
    cases.bad("held", change(finalizers=["example.com/hold"]), held, old=MADE)
    cases.bad("its home", free, whose, old=NAMESPACE_OBJECTS[APPS])
    cases.bad("another tenant's", free, whose, old=NAMESPACE_OBJECTS[FOREIGN])
    cases.bad("nobody's", change(labels={TENANT_LABEL: TENANT}), whose, old=NAMESPACE_OBJECTS["default-apps"])
    status = {"status": {"conditions": [{"type": "a", "status": "True"}]}}
    cases.bad("its status", status, whose, old=MADE, subresource="status")
    cases.bad("deleted by another", {}, whose, old=MADE, operation="DELETE", user=User.MEMBER)
    cases.user = User.PLATFORM
    cases.good("any by the platform", UNLABELED)
    cases.good("any change by the platform", change(labels={TENANT_LABEL: None}), old=MADE)
    return cases.made


def _namespaced() -> list[Case]:
    there = MADE["metadata"]["name"]
    target = _Cases(PolicyName.OWN_NAMESPACES, CONFIG)
    target.good("a namespace that the tenant makes", kustomization(targetNamespace=f"{TENANT}-web"))
    target.good(
        "a namespace that Helm makes as the tenant",
        release(targetNamespace=f"{TENANT}-web", install={"createNamespace": True}),
    )
    target.bad(
        "another's", kustomization(targetNamespace=FOREIGN), "spec.targetNamespace is other, which does not belong"
    )
    target.bad(
        "another's storage", release(storageNamespace=FOREIGN), "spec.storageNamespace is other, which does not belong"
    )
    own, foreign = ({"kind": "Deployment", "name": "web", "namespace": each} for each in (f"{TENANT}-web", FOREIGN))
    target.good("a health check in a namespace that the tenant makes", kustomization(healthChecks=[own]))
    target.bad(
        "a health check in another's",
        kustomization(healthChecks=[own, foreign]),
        "spec.healthChecks[].namespace is ",
    )
    proxied = kustomization(kubeConfig={"configMapRef": {"name": f"{TENANT}-capsule-proxy"}})
    kubeconfig = _Cases(PolicyName.NO_KUBECONFIG, CONFIG)
    kubeconfig.bad("through the proxy by a tenant", proxied, "spec.kubeConfig selects another cluster")
    labeled = merge_patch(proxied, {"metadata": {"labels": {TENANT_LABEL: TENANT}}})
    kubeconfig.good("through the proxy by the platform", labeled, user=User.PLATFORM)
    kubeconfig.bad("as the platform by a tenant", labeled, "spec.kubeConfig selects another cluster")
    access = _Cases(PolicyName.TENANT_ACCESS, CONFIG, User.MEMBER)
    access.good("an account of a made namespace", binding(account("ci", f"{TENANT}-web")))
    access.bad("another's account", binding(account("ci", FOREIGN)), "ServiceAccount other/ci is not a service account")
    limits = _Cases(PolicyName.TENANT_LIMITS, CONFIG, User.MEMBER)
    open_ = made("NetworkPolicy", {"podSelector": {}, "ingress": [{}]}, namespace=there)
    limits.bad("an open network in a made namespace", open_, ": only the platform team may change these objects")
    kinds = _Cases(PolicyName.POLICY_OBJECTS, CONFIG, User.MEMBER)
    kinds.bad("a replication", made("TenantResource", {}, namespace=there), "may change objects of Kyverno and Capsule")
    return [*target.made, *kubeconfig.made, *access.made, *limits.made, *kinds.made]


def given(config: str) -> tuple[PoliciesConfig, TenancyConfig, frozenset[str]]:
    """A configuration of the table of policies, or that of these cases, with the policies that tenants relax."""
    if config == CONFIG:
        return PoliciesConfig(), TENANCY, frozenset()
    return CONFIGS[config], TenancyConfig(), RELAXED.get(config, frozenset())


def native_policies(config: str) -> PolicySet:
    """The native policies under a configuration."""
    policies, tenancy, relaxed = given(config)
    return policy_set(policies, PolicyEngine.NATIVE, relaxed=relaxed, tenancy=tenancy)


KINDS = (definition("capsule.clastix.io", "TenantResource", version="v1beta2"),)
"""Capsule's kinds that these cases are about."""
CASES = [*_namespaces(), *_namespaced()]
