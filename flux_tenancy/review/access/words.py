"""The words for rights, resources and lists, as a platform team uses them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from flux_tenancy.components.rbac.kubernetes_roles import READ
from flux_tenancy.components.rbac.rights import Permission
from flux_tenancy.review.words.lists import listed

MOST_ITEMS = 5
"""How many items of a list are named; the rest is counted."""

_WRITE = ("create", "update", "patch", "delete")
_VERBS = (*READ, *_WRITE, "deletecollection")
_NAMES = """
    Alerts ArtifactGenerators Buckets ClusterRoleBindings ClusterRoles ConfigMaps ControllerRevisions CronJobs
    CustomResourceDefinitions DaemonSets Deployments Endpoints EndpointSlices Events ExternalArtifacts
    GitRepositories HelmCharts HelmReleases HelmRepositories HorizontalPodAutoscalers ImagePolicies
    ImageRepositories ImageUpdateAutomations Ingresses Jobs Kustomizations Leases LimitRanges Namespaces
    NetworkPolicies Nodes OCIRepositories PersistentVolumeClaims PersistentVolumes PodDisruptionBudgets Pods
    PodTemplates PriorityClasses Providers Receivers ReplicaSets ReplicationControllers ResourceQuotas
    RoleBindings Roles Secrets ServiceAccounts Services StatefulSets StorageClasses
"""
_KINDS = {name.lower(): name for name in _NAMES.split()}
_ANYTHING, _ALL = "do anything with", "everything"
_ALL_OF = f"{_ALL} in the API group "
_SUBRESOURCES = {"pods/log": "logs of Pods", "serviceaccounts/token": "tokens of ServiceAccounts"}
# Groups whose resources are known by their kinds alone.
_FAMILIAR = ("", "apps", "autoscaling", "batch", "policy")
_FAMILIAR_DOMAINS = (".k8s.io", ".fluxcd.io")


def counted(items: Iterable[str], noun: str, most: int = MOST_ITEMS) -> str:
    """Items as a part of a sentence: `a, b and c`, or `a, b and 3 more namespaces`; empty if there are none."""
    each = list(items)
    if len(each) <= most + 1:
        return all_of(each)
    return f"{listed(each, most)} {noun}".rstrip()


def all_of(items: Sequence[str]) -> str:
    """All items as a part of a sentence, however many; empty if there are none."""
    return listed(items, most=len(items)) if items else ""


def permissions(rights: Iterable[Permission]) -> str:
    """Rights with verbs for people: `read and write ConfigMaps and Pods; create pods/eviction`."""
    verbs: dict[str, set[str]] = defaultdict(set)
    for right in sorted(rights):
        verbs[_object(right)].add(right.verb)
    objects: dict[str, list[str]] = defaultdict(list)
    for what, allowed in verbs.items():
        objects[_verbs(allowed)].append(what)
    return "; ".join(_said(how, sorted(whats)) for how, whats in sorted(objects.items()))


def _said(how: str, whats: Sequence[str]) -> str:
    """A verb and its objects; whole API groups are one of these."""
    groups = [what.removeprefix(_ALL_OF) for what in whats if what.startswith(_ALL_OF)]
    items = [what for what in whats if not what.startswith(_ALL_OF)]
    if groups:
        of_groups = _ALL_OF if len(groups) == 1 else _ALL_OF.replace("group", "groups")
        items.append(f"{of_groups}{all_of(groups)}")
    said = f"{how} {all_of(items)}"
    return f"do {items[0]}" if how == _ANYTHING and items[0].startswith(_ALL) else said


def _verbs(allowed: set[str]) -> str:
    """Verbs for people: `read` for get, list and watch, `write` for create, update, patch and delete."""
    if "*" in allowed:
        return _ANYTHING
    left, words = set(allowed), []
    for word, verbs in (("read", READ), ("write", _WRITE)):
        if left.issuperset(verbs):
            words.append(word)
            left -= {*verbs, *(("deletecollection",) if word == "write" else ())}
    return all_of([*words, *(verb for verb in _VERBS if verb in left), *sorted(left.difference(_VERBS))])


def _object(right: Permission) -> str:
    if right.resource.startswith("/"):
        return f"the URL {right.resource}"
    what = _resource(right.group, right.resource)
    return f"{what} named {right.name}" if right.name else what


def _resource(group: str, resource: str) -> str:
    if resource == "*":
        return _ALL if group == "*" else f"{_ALL_OF}{group or 'core'}"
    familiar = group in _FAMILIAR or group.endswith(_FAMILIAR_DOMAINS)
    return (_KINDS | _SUBRESOURCES).get(resource, resource) if familiar else f"{resource}.{group}"
