"""Reading from state and cluster what differs from the stack; nothing is changed, and no Secret's content is read.

Deploy keys and webhooks at GitHub are compared with what the last update has registered: a repository's admins can
delete them there, register the key again with write access, or lead the webhook elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from kubernetes import client

from flux_tenancy.components.cluster.client import explaining, read_facts
from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.git.config import GitHubConfig, GitHubRepository
from flux_tenancy.components.git.github import PROVIDER_TYPE, WORKERS
from flux_tenancy.components.git.github_preflight import identity_of
from flux_tenancy.components.installs.kyverno import KYVERNO
from flux_tenancy.components.plan import carries_marks
from flux_tenancy.components.rbac.rights import role_of
from flux_tenancy.components.rbac.subjects import subjects_of
from flux_tenancy.components.tenant.further_access import TenantAccess, read_further_access, tenants_of
from flux_tenancy.components.vocabulary.manifests import Manifest, name_of
from flux_tenancy.operations.drift.differences import SECRET_VALUE, Difference, What, differences, missing, unowned
from flux_tenancy.operations.drift.foreign_grants import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    FOREIGN_TYPES,
    OF_PLATFORM,
    ROLE_BINDING,
    Reach,
    added_rights,
    applied_by_stack,
    entry_for,
    entry_of,
    foreign_objects,
    grant_of,
)
from flux_tenancy.operations.drift.generated import Generated, tenant_of, tenants_by_namespace
from flux_tenancy.operations.drift.kyverno_settings import left_out
from flux_tenancy.operations.drift.lists import NAMESPACE, NATIVE_POLICY, Lists, read_lists
from flux_tenancy.operations.drift.managed_fields import MISSING
from flux_tenancy.operations.drift.recorded_state import RecordedState, opened, read_recorded
from flux_tenancy.operations.stack.connected import check_cluster_of, connect_described, reaching
from flux_tenancy.project.errors import OperationError


@dataclass(frozen=True)
class Drift:
    """What differs from the stack.

    Attributes:
        compared: number of objects of the stack that were compared.
        unread: kinds that this user may not list.
        lists: the cluster as it was read.
    """

    differences: tuple[Difference, ...]
    compared: int
    unread: tuple[str, ...]
    lists: Lists = field(default_factory=dict, repr=False)


def find_drift(recorded: RecordedState, stack: str, project: Path) -> tuple[Drift, client.ApiClient]:
    """Compare cluster and GitHub with what the last update of a stack has applied; also returns the cluster's client.

    Raises:
        OperationError: the cluster is another one, or does not answer.
    """
    with reaching(stack):
        api = connect_described(stack, project)
        check_cluster_of(stack, read_facts(api).uid, recorded.cluster)
        found = drift_of(api, recorded)
    at_host, unread = host_differences(recorded, stack, project)
    whole = replace(found, differences=(*found.differences, *at_host), unread=(*found.unread, *unread))
    return whole, api


def drift_of(api: client.ApiClient, recorded: RecordedState) -> Drift:
    """Compare a cluster with what the last update of its stack has applied.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    unread: list[str] = []
    types = {each.type for each in recorded.objects} | FOREIGN_TYPES | {CLUSTER_ROLE_BINDING, CLUSTER_ROLE}
    with explaining(api):
        lists = dict(read_lists(api, types, unread))
        platform = [
            name_of(each)
            for each in lists.get(NAMESPACE, ())
            if tenant_of(each) is None and name_of(each) in recorded.names(NAMESPACE)
        ]
        if platform:
            lists |= read_lists(api, OF_PLATFORM - types, unread, platform)
    unknown = _unknown(recorded, lists)
    found = [*_compared(recorded, lists), *_left(unknown), *_foreign(api, recorded, unknown, lists)]
    if KYVERNO.namespace in platform:
        tenants = [name_of(each) for each in lists.get(NAMESPACE, ()) if tenant_of(each) is not None]
        with explaining(api):
            deployments = {
                name
                for _, kind, namespace, name in recorded.created_by_charts()
                if (kind, namespace) == ("Deployment", KYVERNO.namespace)
            }
            found += left_out(api, tenants, unread, deployments)
    found.sort(key=lambda each: (list(What).index(each.what), each.namespace, each.kind, each.name, each.field))
    compared = sum(each.type in lists for each in recorded.objects)
    return Drift(tuple(found), compared, tuple(sorted({each.rpartition(":")[2] for each in unread})), lists)


def _compared(recorded: RecordedState, lists: Lists) -> Iterator[Difference]:
    """What is missing or different of the stack's own objects."""
    found = {(type_, name_of(each)): each for type_, listed in lists.items() for each in listed}
    for each in recorded.objects:
        if each.type not in lists:
            continue
        now = found.get((each.type, name_of(each.manifest)))
        if now is None or "deletionTimestamp" in now["metadata"]:
            yield missing(each)
        else:
            yield from differences(each, now)


def _left(unknown: Lists) -> Iterator[Difference]:
    """What the stack has applied once and does not know any more."""
    for type_, listed in unknown.items():
        left = (each for each in listed if carries_marks(each["metadata"]))
        yield from (unowned(What.LEFT, type_.rpartition(":")[2], each) for each in left)


def _foreign(api: client.ApiClient, recorded: RecordedState, unknown: Lists, lists: Lists) -> Iterator[Difference]:
    """Objects of nobody that reach a tenant or the platform, and rights that others have added."""
    of_tenants = [each.manifest for each in recorded.objects if each.manifest["kind"] == "RoleBinding"]
    tenant_of = tenants_by_namespace(each.manifest for each in recorded.objects if each.type == NAMESPACE)
    of_platform = [name for name, tenant in tenant_of.items() if tenant is None]
    # What a tenant's Flux has applied is no reason to give it rights in the whole cluster.
    places = tenant_of | tenants_by_namespace(lists.get(NAMESPACE, ()))
    known = recorded.keys
    of_charts = {entry_for(place, name, group, kind) for group, kind, place, name in recorded.created_by_charts()}
    of_others = {name for name, tenant in places.items() if tenant is not None}
    applied = of_charts | applied_by_stack(lists, known, apart=of_others)
    labels = {name_of(each): each["metadata"].get("labels") or {} for each in lists.get(NAMESPACE, ())}
    groups = {each.type.split(":")[1].partition("/")[0] for each in recorded.objects} - {"core"}
    reach = Reach(
        {name: labels.get(name, {}) for name in tenant_of}, of_platform, recorded.names(NATIVE_POLICY), groups
    )
    explained = known | recorded.pending | Generated(recorded).bindings(lists)
    yield from foreign_objects(lists, explained, reach, of_charts | applied_by_stack(lists, known), applied)
    others = {name_of(each): each for each in unknown.get(CLUSTER_ROLE_BINDING, ())}
    tenants = tenants_of(of_tenants, {name: tenant for name, tenant in tenant_of.items() if tenant is not None})
    by_hand = [each for each in others.values() if entry_of(CLUSTER_ROLE_BINDING, each) not in applied]
    reached = [
        *read_further_access(api, tenants, list(others.values())).values(),
        *read_further_access(api, {"": TenantAccess(of_platform, ())}, by_hand).values(),
    ]
    named = {each.name for found in reached for each in found}
    named |= {
        printable(each["metadata"]["name"])
        for each in by_hand
        if any(subject.within in of_platform for subject, _ in subjects_of(each))
    }
    yield from (grant_of(CLUSTER_ROLE_BINDING, each) for name, each in others.items() if printable(name) in named)
    here = [each for each in lists.get(ROLE_BINDING, ()) if each["metadata"]["namespace"] in tenant_of]
    bound = {role_of(each)[2] for each in (*here, *lists.get(CLUSTER_ROLE_BINDING, ()))}
    own = {role_of(each)[2] for each in of_tenants if each["metadata"]["namespace"] in of_others}
    yield from added_rights(unknown.get(CLUSTER_ROLE, ()), bound, own, applied)


def _unknown(recorded: RecordedState, lists: Lists) -> dict[str, list[Manifest]]:
    known = recorded.keys | recorded.pending
    return {type_: [each for each in listed if (type_, name_of(each)) not in known] for type_, listed in lists.items()}


UNREAD = "deploy keys and webhooks at GitHub"
_PATHS = {"RepositoryDeployKey": "keys", "RepositoryWebhook": "hooks"}


@dataclass(frozen=True)
class _Registered:
    """What is registered at GitHub.

    Attributes:
        github: GitHub with the credentials of the resource's provider.
    """

    urn: str
    kind: str
    name: str
    outputs: Mapping[str, Any]
    repository: GitHubRepository
    github: GitHubConfig


def host_differences(recorded: RecordedState, stack: str, project: Path) -> tuple[list[Difference], list[str]]:
    """How GitHub differs from what the last update has registered, and what of that could not be read."""
    if all(each["type"] == PROVIDER_TYPE for each in recorded.at_github):
        return [], []
    try:
        registered = [*_registered(read_recorded(stack, project, "--show-secrets"))]
    except OperationError:
        return [], [UNREAD]
    with ThreadPoolExecutor(WORKERS) as pool:
        answers = [*pool.map(_found, registered)]
    found = [
        difference
        for each, answer in zip(registered, answers, strict=True)
        if answer is not None
        for difference in _compared_at_host(each, answer)
    ]
    return found, [UNREAD] if None in answers else []


def _registered(recorded: RecordedState) -> Iterator[_Registered]:
    providers = {each["urn"]: opened(each["outputs"]) for each in recorded.at_github if each["type"] == PROVIDER_TYPE}
    for each in recorded.at_github:
        kind = each["type"].rpartition(":")[2]
        provider = providers.get(each.get("provider", "").rpartition("::")[0])
        if kind in _PATHS and provider:
            owner, outputs = provider["owner"], opened(each["outputs"])
            section = {"owners": {owner: identity_of(provider)}, "baseUrl": provider.get("baseUrl")}
            github = GitHubConfig.model_validate({key: value for key, value in section.items() if value})
            repository = GitHubRepository(repository=f"{owner}/{outputs['repository']}")
            yield _Registered(each["urn"], kind, each["urn"].rpartition("::")[2], outputs, repository, github)


def _found(each: _Registered) -> Mapping[str, Any] | None:
    """What GitHub has; empty if it has no such thing any more, None if it does not say."""
    # Importing GitHub's client takes a third of a second, which stacks without GitHub save.
    from flux_tenancy.components.git.github_access import found_at_github

    number = str(each.outputs["id"]).rpartition(":")[2]  # That of a deploy key is `repository:number`.
    return found_at_github(each.github, each.repository, f"{_PATHS[each.kind]}/{number}")


def _compared_at_host(each: _Registered, found: Mapping[str, Any]) -> Iterator[Difference]:
    of = partial(
        Difference, kind=each.kind, namespace="", name=f"{each.repository.repository}/{each.name}", urn=each.urn
    )
    if not found:
        yield of(What.MISSING)
        return
    if each.kind == "RepositoryDeployKey":
        if not found.get("read_only"):
            yield of(What.CHANGED, field="readOnly", stack=True, cluster=False)
        return
    config, intended = found.get("config") or {}, each.outputs.get("configuration") or {}
    if config.get("url") != intended.get("url"):
        # The path of a Receiver is known to nobody else.
        yield of(What.CHANGED, field="configuration.url", stack=SECRET_VALUE, cluster=config.get("url", MISSING))
    for name, now, wanted in (
        ("active", found.get("active"), True),
        ("events", found.get("events"), ["push"]),
        ("configuration.insecureSsl", str(config.get("insecure_ssl", "0")) not in ("0", "False"), False),
    ):
        if now != wanted:
            yield of(What.CHANGED, field=name, stack=wanted, cluster=now)
