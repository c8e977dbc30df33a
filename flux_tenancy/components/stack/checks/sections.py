"""Checks across sections: values that are valid by themselves, but do not go together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from flux_tenancy.components.config.errors import RESERVED, UNKNOWN, dotted
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.installs.flux.config import Profile
from flux_tenancy.components.installs.flux.lockdown_flags import OBJECT_IDENTITY, has_object_identity
from flux_tenancy.components.keys.known_hosts import address_of, keys_for
from flux_tenancy.components.keys.ssh_keys import read_private_key
from flux_tenancy.components.stack.checks import NEEDS_ENGINE, Check, Finding, of_each
from flux_tenancy.components.stack.checks.flux import (
    NEEDS_GATE,
    NO_CONTROLLER,
    NO_TOKENS,
    NOTIFICATION_CHECKS,
    SOURCE_CHECKS,
    SPEC_CHECKS,
    SYNC_CHECKS,
)
from flux_tenancy.components.stack.checks.policies import (
    FREEZE_CHECKS,
    POLICY_CHECKS,
    expired_grants,
    ungrantable_groups,
)
from flux_tenancy.components.stack.checks.tenants import (
    CAPSULE_CHECKS,
    INSTALLATION_CHECKS,
    LIMIT_CHECKS,
    NETWORK_CHECKS,
    NOT_WITH_CAPSULE,
    limits_without_effect,
    too_small_namespaces,
)
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.sync.decryption import Decryption, decryption_account, key_service_hosts
from flux_tenancy.components.tenant.capsule.config import TenancyMode, made_prefix
from flux_tenancy.components.vocabulary.names import Controller

if TYPE_CHECKING:
    from flux_tenancy.components.cluster.config import Subject
    from flux_tenancy.components.config.errors import KeyPath, Problem
    from flux_tenancy.components.git.config import GitSource
    from flux_tenancy.components.stack.files.project import Origins


def _unknown_lanes(config: StackConfig) -> Iterator[Finding]:
    """Lanes without controllers: nobody would serve the tenant. So no lane is removed while it has tenants."""
    known = ", ".join(config.flux.lanes) or "none"
    for name, tenant in config.tenants.items():
        if tenant.lane is not None and tenant.lane not in config.flux.lanes:
            yield ("tenants", name, "lane"), UNKNOWN(what="a lane of this stack", choices=known).of(tenant.lane)


def _made_namespaces(config: StackConfig) -> Iterator[Finding]:
    """Syncs label everything that they apply with their lane, and tenants may not label the namespaces they make."""
    if config.flux.lanes and config.tenancy.mode is TenancyMode.CAPSULE:
        yield ("flux", "lanes"), NOT_WITH_CAPSULE(reason="its tenants may not label their namespaces")


def _mutation_without_policies(config: StackConfig) -> Iterator[Finding]:
    if config.flux.set_lanes and not config.policies.engine.native:
        yield (
            ("flux", "setLanes"),
            NEEDS_ENGINE(what="Kubernetes' own admission policies", engine=config.policies.engine.value),
        )


LANE_CHECKS = (_unknown_lanes, _made_namespaces, _mutation_without_policies)


_SHARED_KEY = Wording(
    "FT-CFG-653",
    "contains the key {key}, which {other} contains as well",
    "use separate keys per tenant and environment: `flux-tenancy key {command}` creates one",
)
OF_A_TENANT = Wording(
    "FT-CFG-679", "belongs to the tenant {tenant}, which could then {danger}", "use a namespace of the platform team"
)


def cross_check(config: StackConfig, origins: Origins) -> list[Problem]:
    """Every problem of a stack whose sections are valid."""
    return [origins.problem(path, message) for check in CHECKS for path, message in check(config)]


def _shared_namespaces(config: StackConfig) -> Iterator[Finding]:
    """Namespaces of two tenants: each would have its rights in the other's namespace."""
    owners: dict[str, str] = {}
    for tenant, tenant_config in config.tenants.items():
        for index, namespace in enumerate(tenant_config.namespace_names):
            owner = owners.setdefault(namespace, tenant)
            if owner != tenant:
                yield (
                    ("tenants", tenant, "namespaces", index, "name"),
                    RESERVED(owner=f"the tenant {owner}").of(namespace),
                )


def _taken_accounts(config: StackConfig) -> Iterator[Finding]:
    """A tenant's service account with the name of the one with which its sync decrypts."""
    for tenant, tenant_config in config.tenants.items():
        own = tenant_config.service_account_name
        if (own or config.tenancy.service_account_name) == decryption_account(tenant):
            yield (
                ("tenants", tenant, "serviceAccountName") if own else ("tenancy", "serviceAccountName"),
                RESERVED(owner=f"the decryption of the sync of {tenant}"),
            )


def _tenant_of(config: StackConfig, namespace: str) -> str | None:
    """The tenant of a namespace, which the stack describes or the tenant can make."""
    making = config.tenants if config.makes_namespaces else ()
    made = (tenant for tenant in making if namespace.startswith(made_prefix(tenant)))
    return config.tenant_of_namespaces.get(namespace) or next(made, None)


def _alerts_of_tenants(config: StackConfig) -> Iterator[Finding]:
    """Alerts and dashboards in the namespace of a tenant."""
    namespace = config.monitoring.namespace
    if config.monitoring.operator and (tenant := _tenant_of(config, namespace)) is not None:
        message = OF_A_TENANT(tenant=tenant, danger="change the alerts of all tenants")
        yield ("monitoring", "namespace"), message.of(namespace)


def _rights_of_tenants(config: StackConfig) -> Iterator[Finding]:
    """Service accounts in tenants' namespaces with rights of the platform: whoever runs pods there would have them."""
    read = "read the objects of all tenants"
    given: list[tuple[KeyPath, Sequence[Subject], str]] = [
        (("cluster", "previewers"), config.cluster.previewers, read),
        (("cluster", "auditors"), config.cluster.auditors, read),
    ]
    if config.capsule is not None:
        added = "add namespaces of the platform to any tenant"
        given.append((("capsule", "administrators"), config.capsule.administrators, added))
    for path, subjects, danger in given:
        for index, subject in enumerate(subjects):
            if (tenant := _tenant_of(config, subject.namespace or "")) is not None:
                yield (*path, index, "namespace"), OF_A_TENANT(tenant=tenant, danger=danger)


def _shared_deploy_keys(config: StackConfig) -> Iterator[Finding]:
    """A deploy key of two sources: revoking it for one tenant would lock the other out."""
    owners: dict[str, KeyPath] = {}
    for path, source in config.sources.items():
        if source.deploy_key is None:
            continue
        key = (*path, "deployKey")
        fingerprint = read_private_key(source.deploy_key.get_secret_value()).fingerprint
        owner = owners.setdefault(fingerprint, key)
        if owner != key:
            yield key, _SHARED_KEY(key=fingerprint, other=dotted(owner), command="deploy")


def _shared_decryption_keys(config: StackConfig) -> Iterator[Finding]:
    """A decryption key of two syncs: each tenant could decrypt the other's Secrets."""
    owners: dict[str, KeyPath] = {}
    for path, decryption in config.decryptions.items():
        keys: dict[KeyPath, list[str]] = {}
        if decryption.age is not None:
            keys[(*path, "age", "identities")] = [each.recipient for each in decryption.age.parsed if each.recipient]
        if decryption.openpgp is not None:
            keys[(*path, "openpgp", "privateKeys")] = [each.fingerprint for each in decryption.openpgp.parsed]
        for key, several in keys.items():
            for public in several:
                owner = owners.setdefault(public, key)
                if owner != key:
                    yield key, _SHARED_KEY(key=public, other=dotted(owner), command="sops")


def _unusable_identity(path: KeyPath, decryption: Decryption, config: StackConfig) -> Iterator[Finding]:
    """A key management service that kustomize-controller may not or cannot use."""
    if decryption.workload_identity is None:
        return
    key = (*path, "workloadIdentity")
    arguments = config.flux.extra_args.get(Controller.KUSTOMIZE, ())
    if not config.flux.workload_identity and config.flux.profile is Profile.MULTI_TENANT:
        yield key, NO_TOKENS()
    if config.flux.profile is Profile.SINGLE_TENANT and not has_object_identity(arguments, config.flux.version):
        yield key, NEEDS_GATE(gate=OBJECT_IDENTITY, controller=Controller.KUSTOMIZE)
    named = key_service_hosts(decryption.workload_identity) or config.flux.egress.hosts
    if decryption.workload_identity.provider == "aws" and config.flux.profile is Profile.MULTI_TENANT and not named:
        yield (
            key,
            Message(
                "FT-CFG-656",
                "lists no key with a region, so the hosts of KMS and STS are unknown, and kustomize-controller "
                "may not connect to them",
                "add the keys, or list the hosts in flux.egress.hosts",
            ),
        )
    if decryption.workload_identity.provider == "vault" and not config.flux.vaults:
        yield (
            (*key, "provider"),
            Message("FT-CFG-657", "is vault, but flux.vaults lists no server", "add its address and login path there"),
        )


def _unknown_host(path: KeyPath, source: GitSource, config: StackConfig) -> Iterator[Finding]:
    if urlsplit(source.url).scheme == "ssh" and not keys_for(source.url, config.git.known_hosts):
        yield (
            (*path, "url"),
            Message(
                "FT-CFG-659",
                "has a host whose key is unknown",
                f"add the line `{address_of(source.url)} <type> <key>` to git.knownHosts; compare the fingerprint "
                "of a key from `ssh-keyscan` with the one that the host publishes",
            ),
        )


def _repository_of_another_url(path: KeyPath, source: GitSource, _: StackConfig) -> Iterator[Finding]:
    if source.github is None:
        return
    key, repository = (*path, "github", "repository"), source.github.repository
    in_url = "/".join(urlsplit(source.url).path.removesuffix("/").removesuffix(".git").split("/")[-2:])
    if in_url.lower() != repository.lower():
        yield (
            key,
            Message("FT-CFG-660", f"is not the repository in url, {in_url!r}", "correct one of them").of(repository),
        )


def _webhook_without_controller(path: KeyPath, source: GitSource, config: StackConfig) -> Iterator[Finding]:
    if source.webhook is not None and Controller.NOTIFICATION not in config.flux.components:
        yield (*path, "webhook"), NO_CONTROLLER(controller=Controller.NOTIFICATION)


def _webhook_without_url(path: KeyPath, source: GitSource, config: StackConfig) -> Iterator[Finding]:
    if source.webhook is not None and source.github is not None and config.flux.webhook_url is None:
        yield (
            (*path, "webhook"),
            Message("FT-CFG-662", "needs an address of this cluster that GitHub can reach", "set flux.webhookUrl"),
        )


CHECKS: tuple[Check, ...] = (
    _shared_namespaces,
    _taken_accounts,
    _rights_of_tenants,
    _alerts_of_tenants,
    _shared_deploy_keys,
    _shared_decryption_keys,
    *SOURCE_CHECKS,
    *POLICY_CHECKS,
    *FREEZE_CHECKS,
    expired_grants,
    ungrantable_groups,
    *NETWORK_CHECKS,
    *NOTIFICATION_CHECKS,
    *SYNC_CHECKS,
    *SPEC_CHECKS,
    *LANE_CHECKS,
    *LIMIT_CHECKS,
    limits_without_effect,
    too_small_namespaces,
    *CAPSULE_CHECKS,
    *INSTALLATION_CHECKS,
    *of_each(
        lambda config: config.sources,
        _unknown_host,
        _repository_of_another_url,
        _webhook_without_controller,
        _webhook_without_url,
    ),
    *of_each(lambda config: config.decryptions, _unusable_identity),
)
