"""Narrow rights of Flux's controllers, as plain manifests: RBAC, and admission that limits what they write where RBAC
cannot, to some fields or to objects with a label.

Upstream binds all controllers to a role that reads every Secret and writes every Flux object, and kustomize-controller
and helm-controller to cluster-admin as well. Here each controller may write only the objects of its own kinds, and read
Secrets only in the namespaces whose Flux objects refer to them.

kustomize-controller and helm-controller also impersonate named service accounts in named namespaces. Everything is
applied with impersonation, so an attacker who takes over a controller gains the rights of these accounts and no more.

The pods run as dedicated service accounts. Upstream's accounts stay, but no pod runs as them: the platform's own
repository is applied as `kustomize-controller`, and in a cluster that is taken over, upstream's bindings may stay.

As themselves, the controllers read their own kinds and those that these refer to; service accounts; and, uncached, the
Secrets and ConfigMaps that an object refers to in its own namespace.
Source: source-controller v1.9.5, kustomize-controller v1.9.5, helm-controller v1.6.4, notification-controller v1.9.3,
image-reflector-controller v1.2.4, image-automation-controller v1.2.4, source-watcher v2.2.3, and their module
github.com/fluxcd/pkg/runtime; for admission, which is Kubernetes' own in every stack,
https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import yaml

from flux_tenancy.components.allowlists.entries import mapping, text, unchanged
from flux_tenancy.components.config.yaml_files import data_of
from flux_tenancy.components.installs.flux.release import COMPONENT_LABEL, lease_of, without_subjects
from flux_tenancy.components.rbac.subjects import rbac_binding, rbac_role, rbac_rule, rules_for, user_of
from flux_tenancy.components.sync.decryption import decryption_account
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import (
    FLUX_NAMESPACE,
    LANE_LABEL,
    LANED,
    PLATFORM_META,
    RECONCILERS,
    Controller,
    ObjectMeta,
    account_of,
)

if TYPE_CHECKING:
    from flux_tenancy.components.installs.flux.config import FluxConfig, Impersonation, VaultServer

CONFIG_WATCHERS_OFF = "--feature-gates=DisableConfigWatchers=true"
CONFIG_WATCHERS = (*RECONCILERS, Controller.NOTIFICATION)
"""The controllers that without this flag watch the metadata of all Secrets, which requires the right to read them."""

CONFIG_MAP = "sops-vault"
# Supported since kustomize-controller 1.9, which is part of Flux 2.9.
VAULT_ARGUMENT = f"--sops-vault-configmap={CONFIG_MAP}"
IMPERSONATION = "flux-impersonation"
"""The Role that lets the controllers impersonate accounts of its namespace, and its RoleBinding."""

SHARED_IMPERSONATION = "flux-tenancy-impersonation"
"""The ClusterRole that does so in namespaces onboarded by label, whose accounts are not known in advance."""

WEBHOOKS = "flux-webhooks"
"""The Role that lets notification-controller annotate sources with a webhook of the stack, and its RoleBinding."""

TOKENS = "flux-tokens"
"""The Role, or the RoleBinding alone, that lets controllers create tokens of service accounts of its namespace."""

_READ = ("get", "list", "watch")
_CHANGE = ("get", "list", "patch", "update", "watch")
_CREATE = ("create", "delete", *_CHANGE)

_FILE: Mapping[str, Any] = data_of(__file__, "controller_rights.yaml")
_ROLES: Mapping[str, Mapping[str, Any]] = _FILE["roles"]
NOTIFYING: Mapping[str, Sequence[str]] = _FILE["notifying"]
"""The kinds that an Alert or a Receiver may name, by their API group."""
LANED_RESOURCES: Mapping[str, tuple[str, ...]] = {
    group: tuple(kinds) for each in LANED for group, kinds in _FILE["controllers"][each]["reconciles"].items()
}
"""What the controllers of lanes reconcile, by API group."""


def _rules(role: str, names: Collection[str] = ()) -> list[Manifest]:
    """The rules of a role of the file.

    Args:
        names: the objects that its rules with `named` are for; all if empty.
    """
    return [
        rbac_rule(group, resources, row["verbs"], names if row.get("named") else ())
        for row in _ROLES[role]["rules"]
        for group, resources in row["resources"].items()
    ]


def _own_rules(controller: Controller) -> Iterator[Manifest]:
    """What a controller may do as itself in the whole cluster."""
    own = _FILE["controllers"][controller]
    for group, kinds in own["reconciles"].items():
        yield rbac_rule(group, [part for kind in kinds for part in (kind, f"{kind}/status")], _CHANGE)
        yield rbac_rule(group, [f"{kind}/finalizers" for kind in kinds], ("update",))
    yield from rules_for(own.get("creates", {}).items(), _CREATE)
    yield from rules_for(own.get("reads", {}).items(), _READ)
    yield from _rules("everywhere")


def vault_config_map(servers: Sequence[VaultServer]) -> Manifest:
    """The allow-list of servers, which kustomize-controller reads for each decryption.

    Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#openbaovault-kubernetes-auth
    """
    instances = [{"address": server.address, "loginPath": server.login_path} for server in servers]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIG_MAP, "namespace": FLUX_NAMESPACE},
        "data": {"config.yaml": yaml.safe_dump({"instances": instances})},
    }


def restricted(manifests: Iterable[Manifest], config: FluxConfig) -> list[Manifest]:
    """The release with restricted rights."""
    powerful = _cluster_admins(config)
    kept = []
    for manifest in manifests:
        if manifest["kind"] == "ClusterRoleBinding":
            gone = {each.value for each in Controller} - set(powerful if is_powerful(manifest) else ())
            manifest = without_subjects(manifest, gone)
            if not manifest["subjects"]:
                continue
        kept.append(manifest)
    controllers = [controller for controller in Controller if controller in config.components]
    own = [each for controller in controllers for each in _accounts_and_rights(controller, config)]
    here = platform_meta(FLUX_NAMESPACE)
    accounts = [account for entry in _platform_entries(config) for account in entry.service_accounts]
    named = _impersonation(here, accounts, config) if accounts else []
    if accounts or config.sync is not None:
        named += _serving_bindings(here, config, receivers=False)
    if config.sync is not None and config.sync.source.webhook is not None:
        named += _webhook_objects(here, [PLATFORM_META.name])
    return [*kept, *own, *serving_roles(config), *named]


def is_powerful(manifest: Manifest) -> bool:
    """Whether a manifest binds to cluster-admin, which controllers need until they are replaced."""
    return bool(manifest["kind"] == "ClusterRoleBinding" and manifest["roleRef"]["name"] == "cluster-admin")


def impersonation_objects(
    meta: ObjectMeta,
    accounts: Sequence[str],
    config: FluxConfig,
    *,
    lane: str = "",
    receivers: bool = False,
    webhooks: Sequence[str] = (),
    token_accounts: Sequence[str] = (),
) -> list[Manifest]:
    """What lets the controllers impersonate accounts of a namespace and serve its Flux objects.

    Args:
        lane: the lane whose controllers these are; empty for the platform's.
        receivers: whether others than the stack may write Receivers there, which may name any Flux object.
        webhooks: the names of the GitRepositories whose Receivers the stack declares.
    """
    impersonation = _impersonation(meta, accounts, config, lane)
    served = [*impersonation, *_serving_bindings(meta, config, lane, receivers=receivers)]
    tokens = token_objects(meta, token_accounts, config, lane)
    return [*served, *tokens, *(_webhook_objects(meta, webhooks) if webhooks else [])]


def token_objects(meta: ObjectMeta, accounts: Sequence[str], config: FluxConfig, lane: str = "") -> list[Manifest]:
    """The Role and RoleBinding to create tokens of these accounts of a namespace, where they are granted by name.

    The roles of Flux 2.10 no longer let its controllers create any token.
    """
    if not (accounts and config.grants_named_tokens):
        return []
    role = rbac_role("Role", meta.metadata(TOKENS), _rules("tokens", list(dict.fromkeys(accounts))))
    return [role, _bound(meta, TOKENS, ("impersonation", "tokens"), config, lane)]


def shared_bindings(meta: ObjectMeta, config: FluxConfig, *, receivers: bool = False) -> list[Manifest]:
    """What lets the controllers do so in a namespace whose accounts are not known in advance."""
    lane = config.lane_of(None)
    served = _serving_bindings(meta, config, lane, receivers=receivers, any_token=True)
    return [_bound(meta, IMPERSONATION, ("impersonation",), config, lane, SHARED_IMPERSONATION), *served]


def shared_impersonation(config: FluxConfig) -> Manifest:
    """The ClusterRole to impersonate any account of a namespace, where its accounts are not known in advance."""
    return rbac_role("ClusterRole", {"name": SHARED_IMPERSONATION}, _impersonation_rules(config, (), any_token=True))


def _impersonation(meta: ObjectMeta, accounts: Sequence[str], config: FluxConfig, lane: str = "") -> list[Manifest]:
    """The Role and RoleBinding to impersonate these accounts of a namespace."""
    accounts = list(dict.fromkeys([*accounts, config.default_service_account]))
    rules = _impersonation_rules(config, accounts, any_token=not config.grants_named_tokens)
    role = rbac_role("Role", meta.metadata(IMPERSONATION), rules)
    return [role, _bound(meta, IMPERSONATION, ("impersonation",), config, lane)]


def serving_roles(config: FluxConfig) -> list[Manifest]:
    """The ClusterRoles of the controllers that impersonate nobody, bound in each namespace with Flux objects."""
    return [rbac_role("ClusterRole", {"name": f"flux-tenancy-{role}"}, _rules(role)) for role in _serving(config)]


def _serving(config: FluxConfig) -> list[str]:
    needed = {
        "secrets": True,
        "receivers": Controller.NOTIFICATION in config.components,
        "tokens": config.workload_identity,
    }
    return [role for role, is_needed in needed.items() if is_needed]


def _serving_bindings(
    meta: ObjectMeta, config: FluxConfig, lane: str = "", *, receivers: bool, any_token: bool = False
) -> list[Manifest]:
    """The RoleBindings to these roles in a namespace: `flux-secrets`, `flux-receivers`, `flux-tokens`.

    Args:
        lane: the lane whose controllers these are; empty for the platform's.
        receivers: whether others than the stack may write Receivers there.
        any_token: whether tokens are created for any account, though others are granted by name.
    """
    left_out = {
        # An account of Flux's own namespace may be cluster-admin.
        "tokens": meta.namespace == FLUX_NAMESPACE or (config.grants_named_tokens and not any_token),
        "receivers": not receivers,
    }
    return [
        _bound(meta, f"flux-{role}", (role,), config, lane, f"flux-tenancy-{role}")
        for role in _serving(config)
        if not left_out.get(role)
    ]


def _webhook_objects(meta: ObjectMeta, sources: Sequence[str]) -> list[Manifest]:
    """The Role and RoleBinding to annotate these GitRepositories of a namespace, and nothing else there."""
    return [
        rbac_role("Role", meta.metadata(WEBHOOKS), _rules("webhooks", sources)),
        _binding("RoleBinding", meta.metadata(WEBHOOKS), "Role", account_of(Controller.NOTIFICATION)),
    ]


def _bound(
    meta: ObjectMeta, name: str, roles: Iterable[str], config: FluxConfig, lane: str, cluster_role: str = ""
) -> Manifest:
    """A RoleBinding for the controllers of these roles of the file that are installed.

    Args:
        cluster_role: the ClusterRole that it binds; by default, it binds the Role of its own name.
    """
    controllers = (Controller(each) for role in roles for each in _ROLES[role]["controllers"])
    accounts = (_subject(_account(each, config, lane)) for each in controllers if each in config.components)
    kind = "ClusterRole" if cluster_role else "Role"
    return rbac_binding("RoleBinding", meta.metadata(name), cluster_role or name, accounts, kind)


def _account(controller: Controller, config: FluxConfig, lane: str) -> str:
    """The service account that the pod of a controller of a lane runs as."""
    return account_of(controller, lane) if config.impersonates else controller.value


def platform_meta(namespace: str) -> ObjectMeta:
    """Metadata of the objects for accounts that `flux.impersonate` names in a namespace."""
    return ObjectMeta(name=PLATFORM_META.name, namespace=namespace, labels={})


def _accounts_and_rights(controller: Controller, config: FluxConfig) -> list[Manifest]:
    """The accounts of a controller, one for each lane, with all their rights except those in tenants' namespaces."""
    lanes = ["", *(config.lanes if controller in LANED else ())]
    cluster: Manifest = {"name": f"flux-tenancy-{controller.value}", "labels": {COMPONENT_LABEL: controller.value}}
    first, *others = ([*_account_at_home(controller, config, lane)] for lane in lanes)
    return [
        first[0],
        rbac_role("ClusterRole", cluster, _own_rules(controller)),
        _binding("ClusterRoleBinding", cluster, "ClusterRole", *(account_of(controller, lane) for lane in lanes)),
        *first[1:],
        *(each for several in others for each in several),
    ]


def _account_at_home(controller: Controller, config: FluxConfig, lane: str) -> list[Manifest]:
    """The account of a controller of a lane, and its rights in flux-system."""
    name, labels = account_of(controller, lane), {COMPONENT_LABEL: controller.value}
    labels |= {LANE_LABEL: lane} if lane else {}
    here: Manifest = {"name": name, "namespace": FLUX_NAMESPACE, "labels": labels}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": here},
        rbac_role("Role", here, _home_rules(controller, config, lane)),
        _binding("RoleBinding", here, "Role", name),
    ]


def _home_rules(controller: Controller, config: FluxConfig, lane: str) -> list[Manifest]:
    """The rules for a controller of a lane, or of the platform, in flux-system."""
    # Until the platform's pod is replaced by one with a selector, it has the lease of the release.
    leases = [] if lane else [f"{controller.value}-leader-election"]
    leases += [lease_of(controller, lane)] if config.lanes and controller in LANED else []
    rules = _rules("leases", leases)
    if controller is Controller.KUSTOMIZE and config.vaults:
        rules += _rules("vaults", (CONFIG_MAP,))
    if controller is Controller.KUSTOMIZE and config.sync is not None and not lane:
        accounts = (Controller.KUSTOMIZE.value, config.default_service_account)
        rules += _impersonation_rules(config, accounts)
        rules += _rules("tokens", (decryption_account(PLATFORM_META.name),)) if config.workload_identity else []
    return rules


def _impersonation_rules(config: FluxConfig, accounts: Sequence[str], *, any_token: bool = False) -> list[Manifest]:
    """Rules to impersonate accounts of a namespace and to read what its objects refer to.

    Args:
        accounts: the accounts to impersonate; any account of the namespace if empty.
        any_token: whether to create tokens for any account.
    """
    tokens = _rules("tokens") if any_token and config.workload_identity else []
    return [*_rules("impersonation", accounts), *tokens]


def _cluster_admins(config: FluxConfig) -> tuple[str, ...]:
    """Upstream's accounts that remain cluster-admin because something is applied as them."""
    named = {account for entry in _platform_entries(config) for account in entry.service_accounts}
    if config.sync is not None:
        named.add(Controller.KUSTOMIZE.value)
    return tuple(each.value for each in RECONCILERS if each.value in named)


def _platform_entries(config: FluxConfig) -> list[Impersonation]:
    """Entries of `flux.impersonate` for Flux's own namespace, which exists before the controllers."""
    return [entry for entry in config.impersonate if entry.namespace == FLUX_NAMESPACE]


def _binding(kind: str, metadata: Manifest, role_kind: str, *accounts: str) -> Manifest:
    return rbac_binding(kind, metadata, metadata["name"], map(_subject, accounts), role_kind)


def _subject(account: str) -> Manifest:
    return {"kind": "ServiceAccount", "name": account, "namespace": FLUX_NAMESPACE}


_API = "admissionregistration.k8s.io/v1"
_USER = "request.userInfo.username"


def annotations_only() -> list[Manifest]:
    """The policy by which notification-controller annotates what a Receiver names, and changes nothing else of it.

    With the right to annotate the platform's GitRepository, whoever takes over the controller could otherwise have
    another repository applied as cluster-admin.

    Source: `requestReconciliation` in internal/server/receiver_handlers.go of notification-controller v1.9.3
    """
    rules = [
        {"apiGroups": [group], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": list(kinds)}
        for group, kinds in NOTIFYING.items()
    ]
    return _policy(
        "flux-tenancy-receivers",
        {
            "matchConstraints": {"resourceRules": rules},
            "matchConditions": [
                {"name": "by-notification-controller", "expression": f"{_USER} == '{_user(Controller.NOTIFICATION)}'"}
            ],
        },
        unchanged("?metadata"),
        "notification-controller changes annotations of Flux's objects, and nothing else",
    )


def own_objects_only(config: FluxConfig) -> list[Manifest]:
    """The policy by which the controllers of a lane write Flux objects of their lane only; nothing without lanes.

    Whoever takes over a controller of a lane could otherwise change the platform's Kustomization, which is applied as
    cluster-admin, or the objects of another lane.
    """
    if not config.lanes:
        return []
    users = {
        _user(controller, lane): lane
        for lane in config.lanes
        for controller in LANED
        if controller in config.components
    }
    lanes = mapping(users)
    rules = [
        {"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE", "DELETE"], "resources": ["*/*"]}
        for group in LANED_RESOURCES
    ]
    return _policy(
        "flux-tenancy-lanes",
        {
            "matchConstraints": {"resourceRules": rules},
            "matchConditions": [{"name": "by-a-lane", "expression": f"{_USER} in {lanes}"}],
            "variables": [{"name": "lane", "expression": f"{lanes}[{_USER}]"}],
        },
        f"[object, oldObject].all(each, each == null || {_label('each')} == variables.lane)",
        "controllers of a lane change only Flux's objects of their lane",
    )


def _policy(name: str, spec: dict[str, Any], expression: str, message: str) -> list[Manifest]:
    """A policy that denies what does not fulfil an expression, and its binding."""
    refusal = {"expression": expression, "message": message, "reason": "Forbidden"}
    specs: dict[str, Manifest] = {
        "ValidatingAdmissionPolicy": {"failurePolicy": "Fail", **spec, "validations": [refusal]},
        "ValidatingAdmissionPolicyBinding": {"policyName": name, "validationActions": ["Deny"]},
    }
    return [
        {"apiVersion": _API, "kind": kind, "metadata": {"name": name}, "spec": each} for kind, each in specs.items()
    ]


def _user(controller: Controller, lane: str = "") -> str:
    return user_of(FLUX_NAMESPACE, account_of(controller, lane))


def _label(part: str) -> str:
    return f"{part}.metadata.?labels[?{text(LANE_LABEL)}].orValue('')"
