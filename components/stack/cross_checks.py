"""Checks that look across sections: what is in order by itself and wrong beside the rest of the stack."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from components.config.errors import Problem
from components.flux.config import Profile
from components.flux.controllers import Controller
from components.flux.lockdown_flags import OBJECT_IDENTITY, enables_object_identity
from components.git.config import GitSource
from components.keys.known_hosts import address_of, keys_for, rivals
from components.keys.ssh_keys import read_private_key
from components.stack.config import StackConfig
from components.stack.messages import dotted
from components.stack.origins import Origins
from components.stack.overlay import Path
from components.stack.partial import Check, Finding, across_sections
from components.stack.policy_checks import POLICY_CHECKS
from components.sync.decryption import Decryption
from components.sync.decryption_objects import decryption_account
from components.sync.key_services import key_service_hosts


def cross_check(config: StackConfig, origins: Origins) -> list[Problem]:
    """Every problem of a stack, or of what of it is in order (`usable_part`)."""
    found = [finding for check in CHECKS for finding in across_sections(check, config)]
    return [origins.problem(path, message) for path, message in found]


def _shared_namespaces(config: StackConfig) -> Iterator[Finding]:
    """Namespaces that two tenants claim; each would be at home in the other's (threat 27)."""
    owners: dict[str, str] = {}
    for tenant, tenant_config in config.tenants.items():
        for index, namespace in enumerate(tenant_config.namespace_names):
            owner = owners.setdefault(namespace, tenant)
            if owner != tenant:
                yield (
                    ("tenants", tenant, "namespaces", index, "name"),
                    f"{namespace!r} already belongs to the tenant {owner}; a namespace has one tenant",
                )


def _taken_accounts(config: StackConfig) -> Iterator[Finding]:
    """A tenant's service account by the name of the one with which its sync decrypts."""
    for tenant, tenant_config in config.tenants.items():
        own = tenant_config.service_account_name
        if (own or config.tenancy.service_account_name) == decryption_account(tenant):
            yield (
                ("tenants", tenant, "serviceAccountName") if own else ("tenancy", "serviceAccountName"),
                f"is the name of the account with which the sync of {tenant} decrypts; choose another",
            )


def _shared_deploy_keys(config: StackConfig) -> Iterator[Finding]:
    """A key with which two sources are read: withdrawing it from one tenant would cut the other off."""
    owners: dict[str, Path] = {}
    for path, source in config.sources.items():
        if source.deploy_key is None:
            continue
        key = (*path, "deployKey")
        fingerprint = read_private_key(source.deploy_key.get_secret_value()).fingerprint
        owner = owners.setdefault(fingerprint, key)
        if owner != key:
            yield (
                key,
                f"is the key of {dotted(owner)} too ({fingerprint}); each tenant has one of its own in each "
                "environment: `make deploy-key` makes it",
            )


def _shared_decryption_keys(config: StackConfig) -> Iterator[Finding]:
    """A key that two syncs decrypt with: each could read what is meant for the other (threat 16)."""
    owners: dict[str, Path] = {}
    for path, decryption in config.decryptions.items():
        keys: dict[Path, list[str]] = {}
        if decryption.age is not None:
            keys[(*path, "age", "identities")] = [each.recipient for each in decryption.age.parsed]
        if decryption.openpgp is not None:
            keys[(*path, "openpgp", "privateKeys")] = [each.fingerprint for each in decryption.openpgp.parsed]
        for key, several in keys.items():
            for public in several:
                owner = owners.setdefault(public, key)
                if owner != key:
                    yield (
                        key,
                        f"holds the key {public} of {dotted(owner)} too; each tenant has keys of its own in each "
                        "environment: `make sops-key` makes one",
                    )


def _useless_identity(path: Path, decryption: Decryption, config: StackConfig) -> Iterator[Finding]:
    """A key management service that kustomize-controller would refuse to use, or could not."""
    if decryption.workload_identity is None:
        return
    key = (*path, "workloadIdentity")
    arguments = config.flux.extra_args.get(Controller.KUSTOMIZE, ())
    if not config.flux.workload_identity and config.flux.profile is Profile.MULTI_TENANT:
        yield key, "needs tokens of its service account, which flux.workloadIdentity lets Flux have; set it to true"
    if config.flux.profile is Profile.SINGLE_TENANT and not any(map(enables_object_identity, arguments)):
        yield (
            key,
            f"needs the feature gate {OBJECT_IDENTITY}, which the single-tenant profile leaves off; add "
            f"`--feature-gates={OBJECT_IDENTITY}=true` to flux.extraArgs.{Controller.KUSTOMIZE}",
        )
    named = key_service_hosts(decryption.workload_identity) or config.flux.egress.hosts
    if decryption.workload_identity.provider == "aws" and config.flux.profile is Profile.MULTI_TENANT and not named:
        yield (
            key,
            "names no key whose region would tell the hosts of KMS and STS, and kustomize-controller reaches no others "
            "than those that it needs; add them to keys, or the hosts to flux.egress.hosts",
        )
    if decryption.workload_identity.provider == "vault" and not config.flux.vaults:
        yield (*key, "provider"), "is vault, but flux.vaults lists no server; add its address and login path there"


def _rival_host_keys(config: StackConfig) -> Iterator[Finding]:
    for address, kind in rivals(config.git.known_hosts):
        yield (
            ("git", "knownHosts"),
            f"has two {kind} keys of {address}, of which Flux takes the first alone; keep the one that the host has",
        )


def _unknown_host(path: Path, source: GitSource, config: StackConfig) -> Iterator[Finding]:
    if urlsplit(source.url).scheme == "ssh" and not keys_for(source.url, config.git.known_hosts):
        address = address_of(source.url)
        yield (
            (*path, "url"),
            f"names a host whose key is not known; add the line `{address} <type> <key>` to git.knownHosts, where "
            "`ssh-keyscan` may be believed only if the fingerprint is the one that the host publishes",
        )


def _unlike_url(path: Path, source: GitSource, _: StackConfig) -> Iterator[Finding]:
    if source.github is None:
        return
    key, repository = (*path, "github", "repository"), source.github.repository
    in_url = "/".join(urlsplit(source.url).path.removesuffix("/").removesuffix(".git").split("/")[-2:])
    if in_url.lower() != repository.lower():
        yield key, f"{repository!r} is not the repository of url, which is {in_url!r}; correct one of them"


def _deaf_controller(path: Path, source: GitSource, config: StackConfig) -> Iterator[Finding]:
    if source.webhook is not None and Controller.NOTIFICATION not in config.flux.components:
        yield (
            (*path, "webhook"),
            f"is answered by {Controller.NOTIFICATION}, which flux.components does not list; add it there",
        )


def _nowhere_to_announce(path: Path, source: GitSource, config: StackConfig) -> Iterator[Finding]:
    if source.webhook is not None and source.github is not None and config.flux.webhook_url is None:
        yield (
            (*path, "webhook"),
            "is registered at GitHub with an address of this cluster, which flux.webhookUrl does not say; add it there",
        )


def _of_each_source(check: Callable[[Path, GitSource, StackConfig], Iterator[Finding]]) -> Check:
    def of_all(config: StackConfig) -> Iterator[Finding]:
        for path, source in config.sources.items():
            yield from check(path, source, config)

    return of_all


def _of_each_decryption(check: Callable[[Path, Decryption, StackConfig], Iterator[Finding]]) -> Check:
    def of_all(config: StackConfig) -> Iterator[Finding]:
        for path, decryption in config.decryptions.items():
            yield from check(path, decryption, config)

    return of_all


CHECKS: tuple[Check, ...] = (
    _shared_namespaces,
    _taken_accounts,
    _shared_deploy_keys,
    _shared_decryption_keys,
    _rival_host_keys,
    *POLICY_CHECKS,
    _of_each_source(_unknown_host),
    _of_each_source(_unlike_url),
    _of_each_source(_deaf_controller),
    _of_each_source(_nowhere_to_announce),
    _of_each_decryption(_useless_identity),
)
