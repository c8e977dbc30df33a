"""What Kyverno is set to leave out, whatever its policies say.

Its ConfigMap is read again whenever it changes, and names requests that reach no policy; its flags decide whether
exceptions count. Both come from the chart, so they are compared with its values (`components.installs.kyverno.values`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from kubernetes import client

from flux_tenancy.components.cluster.client import items
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.installs.kyverno.config import KYVERNO
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.isolation.inventory.fields import NOTHING
from flux_tenancy.isolation.model import Discrepancy

LEFT_OUT = Message(
    "FT-ISO-109",
    "Kyverno's settings exclude requests that its policies would refuse, or one of its controllers does not run",
    "restore Kyverno's Helm release with `pulumi up --refresh`",
)

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


def left_out(api: client.ApiClient, namespaces: Collection[str]) -> list[Discrepancy]:
    """What Kyverno leaves out that concerns a tenant.

    Args:
        api: a client for the cluster.
        namespaces: of the tenant.

    Raises:
        ApiException: the API server does not let the user see Kyverno's ConfigMap and Deployments.
    """
    config_maps = items(api, f"/api/v1/namespaces/{KYVERNO.namespace}/configmaps")
    own = [each for each in config_maps if each["metadata"]["name"] == _CONFIG_MAP]
    data = own[0].get("data") or {} if own else {}
    deployments = items(api, f"/apis/apps/v1/namespaces/{KYVERNO.namespace}/deployments")
    return [*by_configuration(data, namespaces), *by_flags(deployments), *by_replicas(deployments)]


def by_configuration(data: Mapping[str, str], namespaces: Collection[str]) -> Iterator[Discrepancy]:
    """Requests that Kyverno's ConfigMap leaves out.

    Args:
        data: of the ConfigMap.
        namespaces: of the tenant.

    Source: https://kyverno.io/docs/installation/customization/#configmap-keys
    """
    for key, usual in _EXEMPTING.items():
        found = {each.strip() for each in data.get(key, "").split(",")} - {""}
        if further := sorted(found - usual):
            yield _of_config_map(f"{key}: {', '.join(further)}", f"{key}: {', '.join(sorted(usual)) or NOTHING}")
    filters = data.get("resourceFilters", "")
    unread = _FILTER.sub("", filters).split()
    wide = [each for each in _FILTER.findall(filters) if _concerns(each, namespaces)]
    if further := [*(f"[{each}]" for each in wide), *unread]:
        yield _of_config_map(f"resourceFilters: {', '.join(further)}", "no such filter")


def by_flags(deployments: Sequence[Manifest]) -> Iterator[Discrepancy]:
    """Flags of Kyverno's controllers that let exceptions count, or policies fail open."""
    for each in deployments:
        containers = each["spec"]["template"]["spec"]["containers"]
        given = [arg for container in containers for arg in container.get("args") or ()]
        # Both are off by default. A flag may have one dash or two, and is on without a value.
        wrong = [arg for arg in given if (flag := arg.lstrip("-").partition("="))[0] in _FLAGS and flag[2] != "false"]
        if wrong:
            intended = ", ".join(f"--{flag}=false" for flag in _FLAGS)
            name = each["metadata"]["name"]
            yield Discrepancy.of(LEFT_OUT, KYVERNO.namespace, f"Deployment {name}", ", ".join(wrong), intended)


def by_replicas(deployments: Sequence[Manifest]) -> Iterator[Discrepancy]:
    """Kyverno's controllers that do not run."""
    for each in deployments:
        if each["spec"].get("replicas") == 0:
            target = f"Deployment {each['metadata']['name']}"
            yield Discrepancy.of(LEFT_OUT, KYVERNO.namespace, target, "spec.replicas: 0", "at least 1")


def _concerns(entry: str, namespaces: Collection[str]) -> bool:
    """Whether a filter, `kind,namespace,name`, leaves out objects of a tenant; one that cannot be read does."""
    parts = [each.strip() for each in entry.split(",")]
    if parts[0].partition("/")[0] in _LEFT_OUT_KINDS:
        return False
    pattern = parts[1] if len(parts) > 1 else ""
    return not pattern or any(fnmatchcase(namespace, pattern) for namespace in namespaces)


def _of_config_map(found: str, intended: str) -> Discrepancy:
    return Discrepancy.of(LEFT_OUT, KYVERNO.namespace, f"ConfigMap {_CONFIG_MAP}", found, intended)
