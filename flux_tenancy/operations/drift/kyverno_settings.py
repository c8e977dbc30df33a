"""What Kyverno is set to leave out, whatever its policies say.

Its ConfigMap is read again whenever it changes, and names requests that reach no policy; its flags decide whether
exceptions count. Both come from the chart, so they are compared with its values (`helm_values` of
`components.installs.kyverno`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from kubernetes import client

from flux_tenancy.components.installs.kyverno import KYVERNO
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.operations.drift.differences import Difference, What
from flux_tenancy.operations.drift.lists import read_lists
from flux_tenancy.operations.drift.managed_fields import MISSING

_MANIFEST = f"helm get manifest -n {KYVERNO.namespace} {KYVERNO.name}"
RESTORE_KYVERNO = f"{_MANIFEST} | kubectl replace -f -"
"""The command that restores what the chart has created; Pulumi compares only the release."""
CREATE_KYVERNO = f"{_MANIFEST} | kubectl create -f -"
"""The command that creates what is missing of the chart; kubectl refuses what is there."""
_CONFIG_MAPS, _DEPLOYMENTS = "kubernetes:core/v1:ConfigMap", "kubernetes:apps/v1:Deployment"
_CONFIG_MAP = "kyverno"
# What the chart sets for each entry that exempts requests; without an entry, nothing.
# Source: charts/kyverno/templates/config/configmap.yaml and values.yaml of Kyverno 1.19.
_EXEMPTING = {
    "excludeGroups": {"system:nodes"},
    "excludeUsernames": set[str](),
    "excludeRoles": set[str](),
    "excludeClusterRoles": set[str](),
    "matchConditions": set[str](),
}
# Kinds that the chart leaves out everywhere, which no policy is about.
_LEFT_OUT_KINDS = {
    *("APIService", "ClusterEphemeralReport", "ClusterRole", "ClusterRoleBinding", "EphemeralReport", "Event", "Node"),
    *("SelfSubjectAccessReview", "SubjectAccessReview", "TokenReview"),
}
_FILTER = re.compile(r"\[([^\[\]]*)\]")
_FLAGS = ("enablePolicyException", "forceFailurePolicyIgnore")


def left_out(
    api: client.ApiClient,
    namespaces: Collection[str],
    unread: list[str] | None = None,
    installed: Collection[str] = (),
) -> Iterator[Difference]:
    """What Kyverno leaves out that concerns tenants. It belongs to no resource of the stack but Kyverno's release.

    Args:
        installed: the Deployments that the chart has created.
        unread: gets the types that this user may not list; without it, they are an error.

    Raises:
        ApiException: the API server does not let the user see Kyverno's ConfigMap and Deployments.
    """
    lists = read_lists(api, (_CONFIG_MAPS, _DEPLOYMENTS), unread, [KYVERNO.namespace])
    for each in lists.get(_CONFIG_MAPS, ()):
        if each["metadata"]["name"] == _CONFIG_MAP:
            yield from by_configuration(each.get("data") or {}, namespaces)
    if (deployments := lists.get(_DEPLOYMENTS)) is not None:
        yield from (*by_flags(deployments), *by_replicas(deployments), *missing_deployments(deployments, installed))


def by_configuration(data: Mapping[str, str], namespaces: Collection[str]) -> Iterator[Difference]:
    """Requests that Kyverno's ConfigMap leaves out.

    Source: https://kyverno.io/docs/installation/customization/#configmap-keys
    """
    for key, usual in _EXEMPTING.items():
        found = {each.strip() for each in data.get(key, "").split(",")} - {""}
        if further := sorted(found - usual):
            yield _difference("ConfigMap", _CONFIG_MAP, f"data.{key}", ", ".join(further), ", ".join(usual) or MISSING)
    filters = data.get("resourceFilters", "")
    unread = _FILTER.sub("", filters).split()
    wide = [each for each in _FILTER.findall(filters) if _concerns(each, namespaces)]
    if further := [*(f"[{each}]" for each in wide), *unread]:
        yield _difference("ConfigMap", _CONFIG_MAP, "data.resourceFilters", ", ".join(further))


def by_flags(deployments: Sequence[Manifest]) -> Iterator[Difference]:
    """Flags of Kyverno's controllers that let exceptions count, or policies fail open."""
    for each in deployments:
        containers = each["spec"]["template"]["spec"]["containers"]
        given = [arg for container in containers for arg in container.get("args") or ()]
        # Both are off by default. A flag may have one dash or two, and is on without a value.
        wrong = [arg for arg in given if (flag := arg.lstrip("-").partition("="))[0] in _FLAGS and flag[2] != "false"]
        if wrong:
            intended = ", ".join(f"--{flag}=false" for flag in _FLAGS)
            yield _difference("Deployment", each["metadata"]["name"], "args", ", ".join(wrong), intended)


def by_replicas(deployments: Sequence[Manifest]) -> Iterator[Difference]:
    """Kyverno's controllers that do not run."""
    for each in deployments:
        if each["spec"].get("replicas") == 0:
            yield _difference("Deployment", each["metadata"]["name"], "spec.replicas", 0, "at least 1")


def missing_deployments(deployments: Sequence[Manifest], installed: Collection[str]) -> Iterator[Difference]:
    """Kyverno's controllers that the chart has created and somebody has deleted."""
    there = {each["metadata"]["name"] for each in deployments if "deletionTimestamp" not in each["metadata"]}
    for each in sorted(set(installed) - there):
        yield Difference(What.MISSING, "Deployment", KYVERNO.namespace, each)


def _concerns(entry: str, namespaces: Collection[str]) -> bool:
    """Whether a filter, `kind,namespace,name`, leaves out objects of a tenant; one that cannot be read does."""
    parts = [each.strip() for each in entry.split(",")]
    if parts[0].partition("/")[0] in _LEFT_OUT_KINDS:
        return False
    pattern = parts[1] if len(parts) > 1 else ""
    return not pattern or any(fnmatchcase(namespace, pattern) for namespace in namespaces)


def _difference(kind: str, name: str, field: str, found: Any, intended: Any = MISSING) -> Difference:
    return Difference(What.CHANGED, kind, KYVERNO.namespace, name, field, intended, found)
