"""The policies' cases as the program `offline-admission` takes them, and what it knows of the cluster."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path

import yaml

from dev.lab.build import ensure
from dev.lab.settings import Settings
from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.policies.rendering import NOW, object_name
from flux_tenancy.components.vocabulary.manifests import merge_patch
from flux_tenancy.extensions.tenant_check.judge import owner
from flux_tenancy.review.admission.program import Request, Surroundings, User
from tests.support import capsule_cases
from tests.support.policy_cases import CASES, NAMESPACE_OBJECTS, Case, Object
from tests.support.policy_cases import NOW as TIME_OF_CASES
from tests.support.policy_requests import CUSTOM_KINDS, GROUPS, KYVERNO_KINDS, RBAC, USERS, access, as_in_flux_2_10
from tests.support.releases import FLUX_BUNDLE

PROGRAM = "offline-admission"
_OF_SERVERS = {
    # They depend on who owns which entry of a list, which only the API server records.
    "load-balancers: ports that Kubernetes chooses, changed",
    "load-balancers: a port of its choice",
    "load-balancers: a port of its choice without owners",
    # The program has no schema of this kind, since no repository has Events.
    "allowed-kinds: an Event of the newer API",
    "allowed-kinds: its deletion by the newer API",
    "allowed-kinds: a controller's of Kubernetes",
    # Its body is of another kind.
    "freeze: a person scales",
}
OFFLINE_CASES = tuple(case for case in (*CASES, *capsule_cases.CASES) if case.id not in _OF_SERVERS)
"""The cases that can be told offline."""
ACCESS = [each for each in access() if each["apiVersion"] == RBAC["apiVersion"]]
"""The roles and bindings of the cases' users."""


def request(case: Case) -> Request:
    """What the API server makes of a case's request before it asks policies."""
    old, object = case.old, {"CREATE": case.object, "UPDATE": case.after}.get(case.operation)
    if old and case.leaving:
        leaving = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
        old, object = merge_patch(old, leaving), object and merge_patch(object, leaving)
    if object and case.applied:
        object = merge_patch(object, {"metadata": {"managedFields": [owner(case.object)]}})
    elif object and case.operation == "CREATE" and "managedFields" not in object["metadata"]:
        object = merge_patch(object, {"metadata": {"managedFields": [owner(object) | {"operation": "Update"}]}})
    old, object = (each and _with_account(each) for each in (old, object))
    user = User(USERS[case.user], (*GROUPS.get(case.user, ()), "system:authenticated"))
    return Request(case.operation, object, old, case.subresource, user)


def _with_account(object: Object) -> Object:
    """The object as the admission plugin ServiceAccount, which changes pods, leaves it."""
    account: Object = {"spec": {"serviceAccountName": "default"}} if object["kind"] == "Pod" else {}
    with_account: Object = merge_patch(account, object)
    return with_account


@cache
def tool(name: str) -> Path:
    return ensure(Settings.load(), [name])[name]


@cache
def definitions() -> tuple[Object, ...]:
    manifests = yaml.load_all(tool(FLUX_BUNDLE).read_text(), FastLoader)
    return tuple(as_in_flux_2_10(each) for each in manifests if each["kind"] == "CustomResourceDefinition")


def at_a_fixed_time(manifest: Object) -> Object:
    """A policy or a binding that reads no clock: the program takes no parameters."""
    specification = {key: value for key, value in manifest["spec"].items() if key not in ("paramKind", "paramRef")}
    if "paramKind" not in manifest["spec"]:
        return manifest | {"spec": specification}
    said = json.dumps(specification).replace(NOW, f"timestamp('{TIME_OF_CASES}')")
    return manifest | {"spec": json.loads(said)}


def surroundings(
    config: str, only: PolicyName | None = None, policies: Sequence[Object] = (), kinds: Collection[str] = ()
) -> Surroundings:
    """The namespaces and access of the cases, and policies.

    Args:
        config: the configuration whose policies are in force.
        only: the only one of them.
        policies: others instead.
        kinds: the kinds of Flux that the requests are about; all by default.
    """
    manifests = [at_a_fixed_time(each) for each in capsule_cases.native_policies(config).manifests]
    of_flux = [each for each in definitions() if not kinds or each["spec"]["names"]["kind"] in kinds]
    return Surroundings(
        definitions=[*of_flux, *KYVERNO_KINDS, *CUSTOM_KINDS, *capsule_cases.KINDS],
        policies=[*map(at_a_fixed_time, policies)]
        or [each for each in manifests if only is None or each["metadata"]["name"] == object_name(only)],
        namespaces=[*NAMESPACE_OBJECTS.values(), *capsule_cases.NAMESPACES.values()],
        access=[*ACCESS, *capsule_cases.access()],
    )
