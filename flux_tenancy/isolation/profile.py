"""The inventory of a cluster without a stack, held against a profile that the user names."""

from __future__ import annotations

from collections.abc import Iterator

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.rbac.subjects import in_words, subjects_within
from flux_tenancy.components.tenant.further_access import is_documented
from flux_tenancy.components.tenant.namespaces import PodSecurity
from flux_tenancy.components.vocabulary.manifests import Manifest, parse_quantity, selects
from flux_tenancy.components.vocabulary.names import POD_SECURITY_LABEL
from flux_tenancy.isolation.inventory import KYVERNO_POLICY, NOTHING, described
from flux_tenancy.isolation.model import Discrepancy, TenantProfile
from flux_tenancy.isolation.scene import Tenancy
from flux_tenancy.operations.drift.foreign_grants import CLUSTER_ROLE_BINDING, ROLE_BINDING
from flux_tenancy.operations.drift.lists import NAMESPACE, NATIVE_POLICY, NETWORK_POLICY, QUOTA, Lists
from flux_tenancy.operations.drift.managed_fields import MISSING

NATIVE_BINDING = f"{NATIVE_POLICY}Binding"
READ = frozenset({NAMESPACE, ROLE_BINDING, CLUSTER_ROLE_BINDING, NETWORK_POLICY, QUOTA, NATIVE_BINDING, KYVERNO_POLICY})
"""The types that are compared with a profile."""
# A count beyond this limits nothing: etcd would be full before.
_MOST = 100_000
# With each of these a tenant may impersonate every service account of its namespace.
_BROAD = ("admin", "cluster-admin", "edit")
_EVERYWHERE = ("0.0.0.0/0", "::/0")
_BOTH = ("Ingress", "Egress")


def against_profile(profile: TenantProfile, tenant: Tenancy, lists: Lists) -> tuple[Discrepancy, ...]:
    """What a tenant has beyond a profile, and what it lacks.

    Args:
        lists: the cluster (`read_lists`).
    """
    strict = profile is TenantProfile.RESTRICTED
    own = [each for each in lists[NAMESPACE] if each["metadata"]["name"] in tenant.namespaces]
    found: list[Discrepancy] = []
    for namespace in own:
        found += _pod_security(namespace, strict=strict)
        found += _quota(namespace, lists)
        if strict:
            found += _isolation(namespace, lists)
    found += _bindings(tenant, lists, strict=strict)
    if strict:
        found += _policies([each["metadata"].get("labels", {}) for each in own], lists)
    return tuple(found)


def _pod_security(namespace: Manifest, *, strict: bool) -> Iterator[Discrepancy]:
    levels = [PodSecurity.RESTRICTED] if strict else [PodSecurity.RESTRICTED, PodSecurity.BASELINE]
    level = namespace["metadata"].get("labels", {}).get(POD_SECURITY_LABEL)
    if level not in levels:
        found = f"{POD_SECURITY_LABEL}: {level or NOTHING}"
        yield _of_namespace(
            namespace,
            Message(
                "FT-ISO-120",
                "Pod Security is weaker than the profile",
                f"set the label {POD_SECURITY_LABEL} of the namespace",
            ),
            found,
            " or ".join(levels),
        )


def _quota(namespace: Manifest, lists: Lists) -> Iterator[Discrepancy]:
    quotas = _within(lists, QUOTA, namespace)
    if not any(map(_limits_objects, quotas)):
        names = ", ".join(each["metadata"]["name"] for each in quotas)
        found = f"no count up to {_MOST} in {names}" if names else "no ResourceQuota"
        yield _of_namespace(
            namespace,
            Message("FT-ISO-121", "no quota limits the number of objects", "create a ResourceQuota with count/… items"),
            found,
            "a ResourceQuota that counts objects",
        )


def _limits_objects(quota: Manifest) -> bool:
    spec = quota["spec"]
    return not (spec.get("scopes") or spec.get("scopeSelector")) and any(
        (name.startswith("count/") or name == "pods") and parse_quantity(value) <= _MOST
        for name, value in (spec.get("hard") or {}).items()
    )


def _isolation(namespace: Manifest, lists: Lists) -> Iterator[Discrepancy]:
    policies = _within(lists, NETWORK_POLICY, namespace)
    closed = {
        each
        for policy in policies
        if policy["spec"].get("podSelector") in ({}, None)
        for each in policy["spec"].get("policyTypes", ())
    }
    if open_ways := [each for each in _BOTH if each not in closed]:
        found = f"no NetworkPolicy for all pods has the type {' or '.join(open_ways)}"
        yield _of_namespace(
            namespace,
            Message(
                "FT-ISO-122",
                "pods are not isolated",
                "create a NetworkPolicy for all pods with Ingress and Egress, without rules",
            ),
            found,
            "a NetworkPolicy for all pods with both",
        )
    for policy in policies:
        for way, peers in (("ingress", "from"), ("egress", "to")):
            if wide := [rule for rule in policy["spec"].get(way) or () if _opens_all(rule, peers)]:
                found, _ = described([(way, MISSING, wide)])
                name = f"NetworkPolicy {policy['metadata']['name']}"
                place = namespace["metadata"]["name"]
                yield Discrepancy.of(
                    Message(
                        "FT-ISO-123",
                        "a network policy opens all pods to everything",
                        "name the peers in its rules, or delete it",
                    ),
                    place,
                    name,
                    found,
                    "rules that name peers or ports",
                )


def _opens_all(rule: Manifest, peers: str) -> bool:
    """Whether a rule opens all ports to everything inside or outside of the cluster."""
    named = rule.get(peers)
    return not rule.get("ports") and (not named or any(map(_is_everything, named)))


def _is_everything(peer: Manifest) -> bool:
    block = peer.get("ipBlock")
    if block is not None:
        return block["cidr"] in _EVERYWHERE and not block.get("except")
    return peer.get("namespaceSelector") == {} and not peer.get("podSelector")


def _bindings(tenant: Tenancy, lists: Lists, *, strict: bool) -> Iterator[Discrepancy]:
    """In its namespaces, none of the broad roles; with `baseline`, Flux's account may have them. Elsewhere, nothing."""
    for each in (*lists[ROLE_BINDING], *lists[CLUSTER_ROLE_BINDING]):
        namespace, role = each["metadata"].get("namespace", ""), each["roleRef"]
        if not (subjects := subjects_within(each, tenant.namespaces)):
            continue
        if namespace in tenant.namespaces:
            is_flux = subjects == [f"ServiceAccount {tenant.home}/{tenant.account}"]
            if role["kind"] != "ClusterRole" or role["name"] not in _BROAD or (is_flux and not strict):
                continue
        elif is_documented(each, tenant.name):
            continue
        found = in_words(each)
        intended = "a narrower role" if namespace in tenant.namespaces else "no rights outside of its namespaces"
        yield Discrepancy.of(
            Message(
                "FT-ISO-124",
                "a binding gives more than the profile allows",
                "bind a narrower role, or delete the binding",
            ),
            namespace,
            f"{each['kind']} {each['metadata']['name']}",
            found,
            intended,
        )


def _policies(namespaces: list[dict[str, str]], lists: Lists) -> Iterator[Discrepancy]:
    """Policies that apply to a namespace of the tenant and deny nothing."""
    for type_, field in ((NATIVE_BINDING, "matchResources"), (KYVERNO_POLICY, "matchConstraints")):
        for each in lists[type_]:
            selector = (each["spec"].get(field) or {}).get("namespaceSelector", {})
            actions = each["spec"].get("validationActions") or ()
            # Kyverno denies where a policy says nothing.
            if actions and "Deny" not in actions and any(selects(selector, labels) for labels in namespaces):
                name = f"{each['kind']} {each['metadata']['name']}"
                found = f"validationActions: {', '.join(actions)}"
                yield Discrepancy.of(
                    Message("FT-ISO-125", "a policy refuses nothing", "set its validationActions to Deny"),
                    "",
                    name,
                    found,
                    "Deny",
                )


def _of_namespace(namespace: Manifest, message: Message, found: str, intended: str) -> Discrepancy:
    name = namespace["metadata"]["name"]
    return Discrepancy.of(message, name, f"Namespace {name}", found, intended)


def _within(lists: Lists, type_: str, namespace: Manifest) -> list[Manifest]:
    """The objects of a type in a namespace."""
    return [each for each in lists[type_] if each["metadata"].get("namespace") == namespace["metadata"]["name"]]
