"""Impersonate-only kustomize-controller and helm-controller, as plain manifests.

Upstream binds both to cluster-admin and to a role that can read every Secret. Here their pods run as dedicated service
accounts, which may only manage the controllers' own objects and impersonate named service accounts in named namespaces.
Everything is applied with impersonation, so an attacker who takes over a controller gains the rights of these accounts
and no more.

Upstream's accounts `kustomize-controller` and `helm-controller` stay, because the platform's own repository is applied
as them; no pod runs as them.

As themselves, the controllers read their own kinds and sources; service accounts, before they prune; and, uncached, the
Secrets and ConfigMaps that a Kustomization or HelmRelease refers to in its own namespace.
Source: kustomize-controller v1.9.5, helm-controller v1.6.4 and their module github.com/fluxcd/pkg/runtime.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from components.cluster.manifests import Manifest
from components.cluster.object_meta import ObjectMeta
from components.flux.config import FluxConfig, Impersonation
from components.flux.controllers import RECONCILERS, Controller
from components.flux.release import COMPONENT_LABEL
from components.flux.vaults import CONFIG_MAP
from components.sync.decryption_objects import decryption_account
from components.sync.names import FLUX_NAMESPACE, PLATFORM

CONFIG_WATCHERS_OFF = "--feature-gates=DisableConfigWatchers=true"
"""Without this flag, they watch the metadata of all Secrets and ConfigMaps, which requires the right to read them."""

IMPERSONATION = "flux-impersonation"
"""The Role that lets the controllers impersonate accounts of its namespace, and its RoleBinding."""

SHARED_IMPERSONATION = "flux-tenancy-impersonation"
"""The ClusterRole that does so in namespaces onboarded by label, whose accounts are not known in advance."""

_RBAC = "rbac.authorization.k8s.io"
_READ = ("get", "list", "watch")
_CHANGE = ("get", "list", "patch", "update", "watch")
_EVENTS = ("", ("events",), ("create", "patch"))
_ACCOUNTS = ("", ("serviceaccounts",), _READ)

# What each controller may do as itself in the whole cluster: API group, resources, verbs.
_OWN_RIGHTS: Mapping[Controller, tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]] = {
    Controller.KUSTOMIZE: (
        ("kustomize.toolkit.fluxcd.io", ("kustomizations", "kustomizations/status"), _CHANGE),
        ("kustomize.toolkit.fluxcd.io", ("kustomizations/finalizers",), ("update",)),
        (
            "source.toolkit.fluxcd.io",
            ("buckets", "externalartifacts", "gitrepositories", "ocirepositories"),
            _READ,
        ),
        _ACCOUNTS,
        _EVENTS,
    ),
    Controller.HELM: (
        ("helm.toolkit.fluxcd.io", ("helmreleases", "helmreleases/status"), _CHANGE),
        ("helm.toolkit.fluxcd.io", ("helmreleases/finalizers",), ("update",)),
        # It creates one from `spec.chart` of each HelmRelease.
        ("source.toolkit.fluxcd.io", ("helmcharts",), ("create", "delete", *_CHANGE)),
        ("source.toolkit.fluxcd.io", ("externalartifacts", "ocirepositories"), _READ),
        _ACCOUNTS,
        _EVENTS,
    ),
}


def account_of(controller: Controller) -> str:
    """The service account that the pods of a controller run as."""
    return f"{controller.value}-impersonator"


def restricted(manifests: Iterable[Manifest], config: FluxConfig) -> list[Manifest]:
    """The release with restricted rights. The manifests are changed in place."""
    controllers = [controller for controller in RECONCILERS if controller in config.components]
    powerful = _cluster_admins(config)
    kept = []
    for manifest in manifests:
        if manifest["kind"] == "ClusterRoleBinding":
            _remove_subjects(manifest, powerful if is_powerful(manifest) else ())
            if not manifest["subjects"]:
                continue
        kept.append(manifest)
    own = [each for controller in controllers for each in _account_and_rights(controller, config)]
    accounts = [account for entry in _platform_entries(config) for account in entry.service_accounts]
    named = impersonation_objects(platform_meta(FLUX_NAMESPACE), accounts, config) if accounts else []
    return [*kept, *own, *named]


def is_powerful(manifest: Manifest) -> bool:
    """Whether a manifest binds to cluster-admin, which controllers need until they are replaced."""
    return bool(manifest["kind"] == "ClusterRoleBinding" and manifest["roleRef"]["name"] == "cluster-admin")


def impersonation_objects(meta: ObjectMeta, accounts: Sequence[str], config: FluxConfig) -> list[Manifest]:
    """The Role and RoleBinding to impersonate these accounts of a namespace and read what its Flux objects refer to."""
    accounts = list(dict.fromkeys([*accounts, config.default_service_account]))
    role = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "Role",
        "metadata": meta.metadata(IMPERSONATION),
        "rules": _impersonation_rules(config, accounts),
    }
    return [role, impersonation_binding(meta, {"kind": "Role", "name": IMPERSONATION}, config)]


def impersonation_binding(meta: ObjectMeta, role: Mapping[str, str], config: FluxConfig) -> Manifest:
    """Binds the controllers to a role in a namespace."""
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": meta.metadata(IMPERSONATION),
        "roleRef": {"apiGroup": _RBAC, **role},
        "subjects": [_subject(account_of(each)) for each in RECONCILERS if each in config.components],
    }


def shared_impersonation(config: FluxConfig) -> Manifest:
    """The ClusterRole to impersonate any account of a namespace, where its accounts are not known in advance."""
    return _role("ClusterRole", {"name": SHARED_IMPERSONATION}, _impersonation_rules(config, ()))


def platform_meta(namespace: str) -> ObjectMeta:
    """Metadata of the objects for accounts that `flux.impersonate` names in a namespace."""
    return ObjectMeta(name=PLATFORM.name, namespace=namespace, labels={})


def _account_and_rights(controller: Controller, config: FluxConfig) -> list[Manifest]:
    """The account of a controller with all its rights except those in tenants' namespaces."""
    name, labels = account_of(controller), {COMPONENT_LABEL: controller.value}
    here: Manifest = {"name": name, "namespace": FLUX_NAMESPACE, "labels": labels}
    cluster: Manifest = {"name": f"flux-tenancy-{controller.value}", "labels": labels}
    own = [_rule(*row) for row in _OWN_RIGHTS[controller]]
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": here},
        _role("ClusterRole", cluster, own),
        _binding("ClusterRoleBinding", cluster, "ClusterRole", name),
        _role("Role", here, _home_rules(controller, config)),
        _binding("RoleBinding", here, "Role", name),
    ]


def _home_rules(controller: Controller, config: FluxConfig) -> list[Manifest]:
    """The rules for a controller in flux-system."""
    lease = f"{controller.value}-leader-election"
    rules = [
        _rule("coordination.k8s.io", ("leases",), ("create",)),
        _rule("coordination.k8s.io", ("leases",), ("get", "patch", "update"), (lease,)),
    ]
    if controller is Controller.KUSTOMIZE and config.vaults:
        rules.append(_rule("", ("configmaps",), ("get",), (CONFIG_MAP,)))
    if controller is Controller.KUSTOMIZE and config.sync is not None:
        accounts = (Controller.KUSTOMIZE.value, config.default_service_account)
        decryption = (decryption_account(PLATFORM.name),)
        rules += _impersonation_rules(config, accounts, decryption)
    return rules


def _impersonation_rules(
    config: FluxConfig, accounts: Sequence[str], token_accounts: Sequence[str] = ()
) -> list[Manifest]:
    """Rules to impersonate accounts of a namespace and to read what its objects refer to.

    Args:
        config: the `flux` section of the stack, which says whether the controllers may create tokens.
        accounts: the accounts to impersonate; any account of the namespace if empty.
        token_accounts: the accounts to create tokens for, for their cloud identity; any account if empty.
    """
    rules = [
        _rule("", ("serviceaccounts",), ("impersonate",), accounts),
        _rule("", ("configmaps", "secrets"), ("get",)),
    ]
    if config.workload_identity:
        rules.append(_rule("", ("serviceaccounts/token",), ("create",), token_accounts))
    return rules


def _cluster_admins(config: FluxConfig) -> tuple[str, ...]:
    """Upstream's accounts that remain cluster-admin because something is applied as them."""
    named = {account for entry in _platform_entries(config) for account in entry.service_accounts}
    if config.sync is not None:
        named.add(Controller.KUSTOMIZE.value)
    return tuple(each.value for each in RECONCILERS if each.value in named)


def _platform_entries(config: FluxConfig) -> list[Impersonation]:
    """Entries of `flux.impersonate` for Flux's own namespace, which exists before the controllers."""
    return [entry for entry in config.impersonate if entry.namespace == FLUX_NAMESPACE]


def _remove_subjects(binding: Manifest, kept: Sequence[str]) -> None:
    """Remove upstream's accounts from a binding, except those to keep."""
    gone = {each.value for each in RECONCILERS} - set(kept)
    binding["subjects"] = [subject for subject in binding.get("subjects", ()) if subject["name"] not in gone]


def _role(kind: str, metadata: Manifest, rules: Sequence[Manifest]) -> Manifest:
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata, "rules": list(rules)}


def _binding(kind: str, metadata: Manifest, role: str, account: str) -> Manifest:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": _RBAC, "kind": role, "name": metadata["name"]},
        "subjects": [_subject(account)],
    }


def _subject(account: str) -> Manifest:
    return {"kind": "ServiceAccount", "name": account, "namespace": FLUX_NAMESPACE}


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str], names: Sequence[str] = ()) -> Manifest:
    rule = {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
    return rule | {"resourceNames": list(names)} if names else rule
