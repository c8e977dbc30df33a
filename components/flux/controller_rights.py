"""Impersonate-only kustomize-controller and helm-controller, as plain manifests.

Upstream binds both to cluster-admin and to a role that reads every Secret. Here their pods run as accounts of their
own, which may read and write the controllers' own objects, and act as named service accounts in named namespaces. What
is applied is applied as those accounts, so whoever breaks a controller gets what they have, and no more.

Upstream's accounts `kustomize-controller` and `helm-controller` stay, for what the platform's own repository applies as
them; no pod runs as them.

What the controllers read as themselves: their own kinds and sources; service accounts, before they prune; and, without
a cache, the Secrets and ConfigMaps that a Kustomization or HelmRelease refers to in its own namespace.
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
"""Without it they watch the metadata of all Secrets and ConfigMaps, for which they need the right to read them."""

IMPERSONATION = "flux-impersonation"
"""The Role in a namespace by which the controllers act as accounts of it, and its RoleBinding."""

SHARED_IMPERSONATION = "flux-tenancy-impersonation"
"""The ClusterRole that does so in namespaces that are onboarded by label, whose accounts nobody knows beforehand."""

_RBAC = "rbac.authorization.k8s.io"
_READ = ("get", "list", "watch")
_CHANGE = ("get", "list", "patch", "update", "watch")
_EVENTS = ("", ("events",), ("create", "patch"))
_ACCOUNTS = ("", ("serviceaccounts",), _READ)

# What each controller does as itself in the whole cluster: API group, resources, verbs.
_OWN: Mapping[Controller, tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]] = {
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
        # It makes one of `spec.chart` of each HelmRelease.
        ("source.toolkit.fluxcd.io", ("helmcharts",), ("create", "delete", *_CHANGE)),
        ("source.toolkit.fluxcd.io", ("externalartifacts", "ocirepositories"), _READ),
        _ACCOUNTS,
        _EVENTS,
    ),
}


def account_of(controller: Controller) -> str:
    """The service account that the pods of one of these controllers run as."""
    return f"{controller.value}-impersonator"


def restricted(manifests: Iterable[Manifest], config: FluxConfig) -> list[Manifest]:
    """The release with these rights; the manifests are the caller's own and are changed in place."""
    controllers = [controller for controller in RECONCILERS if controller in config.components]
    powerful = _powerful(config)
    kept = []
    for manifest in manifests:
        if manifest["kind"] == "ClusterRoleBinding":
            _unbind(manifest, powerful if is_powerful(manifest) else ())
            if not manifest["subjects"]:
                continue
        kept.append(manifest)
    own = [each for controller in controllers for each in _standing(controller, config)]
    accounts = [account for entry in _of_platform(config) for account in entry.service_accounts]
    named = impersonation_objects(platform_meta(FLUX_NAMESPACE), accounts, config) if accounts else []
    return [*kept, *own, *named]


def is_powerful(manifest: Manifest) -> bool:
    """Whether it is a binding to cluster-admin, of which a controller that still runs as before is in need."""
    return bool(manifest["kind"] == "ClusterRoleBinding" and manifest["roleRef"]["name"] == "cluster-admin")


def impersonation_objects(meta: ObjectMeta, accounts: Sequence[str], config: FluxConfig) -> list[Manifest]:
    """What lets the controllers act as these accounts of a namespace, and read what its Flux objects refer to."""
    accounts = list(dict.fromkeys([*accounts, config.default_service_account]))
    role = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "Role",
        "metadata": meta.metadata(IMPERSONATION),
        "rules": _impersonation(config, accounts),
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
    """The ClusterRole for namespaces whose accounts are not known beforehand: any of theirs."""
    return _role("ClusterRole", {"name": SHARED_IMPERSONATION}, _impersonation(config, ()))


def platform_meta(namespace: str) -> ObjectMeta:
    """Where `flux.impersonate` names accounts of the platform."""
    return ObjectMeta(name=PLATFORM.name, namespace=namespace, labels={})


def _standing(controller: Controller, config: FluxConfig) -> list[Manifest]:
    """The account of a controller and its rights, all but those in tenants' namespaces."""
    name, labels = account_of(controller), {COMPONENT_LABEL: controller.value}
    here: Manifest = {"name": name, "namespace": FLUX_NAMESPACE, "labels": labels}
    cluster: Manifest = {"name": f"flux-tenancy-{controller.value}", "labels": labels}
    own = [_rule(*row) for row in _OWN[controller]]
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": here},
        _role("ClusterRole", cluster, own),
        _binding("ClusterRoleBinding", cluster, "ClusterRole", name),
        _role("Role", here, _rules_at_home(controller, config)),
        _binding("RoleBinding", here, "Role", name),
    ]


def _rules_at_home(controller: Controller, config: FluxConfig) -> list[Manifest]:
    """What a controller may do in flux-system."""
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
        rules += _impersonation(config, accounts, decryption)
    return rules


def _impersonation(config: FluxConfig, accounts: Sequence[str], minting: Sequence[str] = ()) -> list[Manifest]:
    """Rules to act as the accounts of a namespace, or any of them, and to read what its objects refer to.

    Args:
        config: whether tokens may be made at all.
        accounts: those accounts; all where there are none.
        minting: the accounts that tokens may be made of, for their cloud identity; all where there are none.
    """
    rules = [
        _rule("", ("serviceaccounts",), ("impersonate",), accounts),
        _rule("", ("configmaps", "secrets"), ("get",)),
    ]
    if config.workload_identity:
        rules.append(_rule("", ("serviceaccounts/token",), ("create",), minting))
    return rules


def _powerful(config: FluxConfig) -> tuple[str, ...]:
    """Those of upstream's accounts that something applies as, and that therefore stay cluster-admin."""
    named = {account for entry in _of_platform(config) for account in entry.service_accounts}
    if config.sync is not None:
        named.add(Controller.KUSTOMIZE.value)
    return tuple(each.value for each in RECONCILERS if each.value in named)


def _of_platform(config: FluxConfig) -> list[Impersonation]:
    """What the configuration names in Flux's own namespace, which is there before any controller."""
    return [entry for entry in config.impersonate if entry.namespace == FLUX_NAMESPACE]


def _unbind(binding: Manifest, kept: Sequence[str]) -> None:
    """Take upstream's accounts out of a binding, but for those to keep."""
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
