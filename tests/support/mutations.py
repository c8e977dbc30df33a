"""Holes that are made in a healthy cluster by hand, as data, each with what the inventory must say about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from kubernetes import client
from kubernetes.client.exceptions import ApiException
from kubernetes.utils import DEFAULT_BACKOFF, retry_on_conflict

from flux_tenancy.components.cluster.client import APPLY_PATCH, ask, get, path_of
from flux_tenancy.components.cluster.config import ClusterConfig, connect
from flux_tenancy.components.cluster.hooks import wait_for
from flux_tenancy.components.plan import applying_managers
from flux_tenancy.components.stack.loading import load_offline
from flux_tenancy.components.tenant.capsule.config import CAPSULE_API, TENANT, TENANT_OWNER
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import MANAGED_BY_LABEL, MANAGER, TENANT_LABEL
from flux_tenancy.isolation.inventory import StackInventory
from flux_tenancy.isolation.model import Discrepancy
from flux_tenancy.isolation.scene import Tenancy, tenancy
from flux_tenancy.operations.drift.recorded_state import read_applied
from tests.support.project import Project

RBAC = "rbac.authorization.k8s.io/v1"
ADMISSION = "admissionregistration.k8s.io/v1"
NETWORKING = "networking.k8s.io/v1"
# What the API server sets, and refuses in a new object.
_OF_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")
_SETTLED_SECONDS = 60
ELSEWHERE = "elsewhere"
"""A namespace of no tenant, which the test creates."""
_JSON_PATCH = "application/json-patch+json"
_DISTURBING = {
    "APIService",
    "CustomResourceDefinition",
    "GeneratingPolicy",
    "MutatingAdmissionPolicy",
    "MutatingWebhookConfiguration",
    "Namespace",
    "ResourceQuota",
    "ValidatingWebhookConfiguration",
}
"""Kinds of objects whose holes change what is found, or can be made, beside them.

Kyverno deletes what a changed GeneratingPolicy no longer generates. Restarted meanwhile, it does not generate it again.
"""


class Hole(Protocol):
    """What is done to an object, and where that is reported."""

    @property
    def object(self) -> Manifest: ...

    @property
    def finding(self) -> tuple[str, str, str]: ...


AnyHole = TypeVar("AnyHole", bound=Hole)


def together(holes: Iterable[AnyHole]) -> list[list[AnyHole]]:
    """The holes in groups to be made at once, no two of which are reported at the same place."""
    groups: list[list[AnyHole]] = []
    for hole in holes:
        for group in groups:
            kinds = {hole.object["kind"], *(each.object["kind"] for each in group)}
            # A place may be found in two ways, such as an object that is gone, or changed.
            if not kinds & _DISTURBING and hole.finding[-2:] not in {each.finding[-2:] for each in group}:
                group.append(hole)
                break
        else:
            groups.append([hole])
    return groups


@dataclass(frozen=True)
class Mutation:
    """One hole.

    Attributes:
        name: what is done.
        object: what it is done to; as a whole if it is new.
        change: a merge patch, or a JSON patch, of an object that is there; None deletes it. Empty for a new object.
        code: of the discrepancy that the inventory must report.
        at: where, if not at the object itself: its namespace, kind and name.
    """

    name: str
    object: Manifest
    change: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None
    code: str
    at: tuple[str, str] | None = None

    @property
    def finding(self) -> tuple[str, str, str]:
        """Code, namespace and object of the discrepancy."""
        metadata = self.object["metadata"]
        own = metadata["name"] if self.object["kind"] == "Namespace" else metadata.get("namespace", "")
        return self.code, *(self.at or (own, f"{self.object['kind']} {metadata['name']}"))


@contextmanager
def made(api: client.ApiClient, mutation: Mutation) -> Iterator[None]:
    """The cluster with the hole, and as it was before afterwards."""
    path = path_of(mutation.object)
    if mutation.change == {}:
        ask(api, "POST", _collection(mutation.object), mutation.object)
        try:
            yield
        finally:
            ask(api, "DELETE", path)
        return
    before = get(api, path)
    if mutation.change is None:
        ask(api, "DELETE", path)
    else:
        kind = _JSON_PATCH if isinstance(mutation.change, list) else None
        ask(api, "PATCH", path, mutation.change, content_type=kind)
    try:
        yield
    finally:
        # Controllers write to some of these objects meanwhile.
        retry_on_conflict(lambda: _restore(api, path, mutation.object, before), DEFAULT_BACKOFF)


def _restore(api: client.ApiClient, path: str, named: Manifest, before: Manifest) -> None:
    version = None
    with suppress(ApiException):
        version = get(api, path)["metadata"]["resourceVersion"]
    if version is not None:
        # A controller may have created it anew, with another uid.
        ask(api, "PUT", path, before | {"metadata": before["metadata"] | {"resourceVersion": version, "uid": None}})
    else:
        again = before | {"metadata": {key: each for key, each in before["metadata"].items() if key not in _OF_SERVER}}
        if managers := applying_managers(before["metadata"]):
            # Created by another manager, it would be no longer Pulumi's.
            ask(api, "PATCH", path, again, content_type=APPLY_PATCH, fieldManager=managers[0], force="true")
        else:
            ask(api, "POST", _collection(named), again)


def _collection(manifest: Manifest) -> str:
    return path_of(manifest).rpartition("/")[0]


class Inventories:
    """The inventory of one stack, made again and again.

    Args:
        project: the stack's project.
        stack: its name.
        kubeconfig: of an administrator of its cluster.
    """

    def __init__(self, project: Project, stack: str, kubeconfig: Path) -> None:
        self.api = connect(ClusterConfig(kubeconfig=str(kubeconfig)), project.folder)
        self._tenants: dict[str, Tenancy] = {}
        with project.in_environment():
            config, _ = load_offline(stack, project.folder)
            self._inventory = StackInventory(self.api, config, read_applied(stack, project.folder))

    def of(self, tenant: str) -> tuple[Discrepancy, ...]:
        """What the inventory says about a tenant now."""
        if tenant not in self._tenants:
            self._tenants[tenant] = tenancy(self.api, tenant)
        return self._inventory.of(self._tenants[tenant], self._inventory.read())

    def assert_settled(self, tenant: str) -> None:
        """The inventory has nothing to say, once the cluster's controllers have had their time."""
        left = self._left(tenant)
        assert left is None, left

    def _left(self, tenant: str) -> str | None:
        """What the inventory still says after that time."""
        return wait_for(lambda: "\n".join(map(str, self.of(tenant))) or None, _SETTLED_SECONDS)

    def missed(self, tenant: str, mutations: Sequence[Mutation]) -> list[str]:
        """The holes that are not found, and what remains after they were undone; empty if all is well."""
        wrong = []
        for group in together(mutations):
            with ExitStack() as stack:
                for each in group:
                    stack.enter_context(made(self.api, each))
                found = self.of(tenant)
            findings = {(each.code, each.namespace, each.target) for each in found}
            missing = [each for each in group if each.finding not in findings]
            wrong += [f"{each.name}: {each.finding} is not in {found}" for each in missing]
            if left := self._left(tenant):
                wrong.append(f"{[each.name for each in group]}: undone, but {left}")
        return wrong


# ---- the holes ----


def _named(version: str, kind: str, name: str, namespace: str = "") -> Manifest:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def binding(role: str, subject: Mapping[str, str], namespace: str = "") -> Mutation:
    """A further binding of a ClusterRole; in the whole cluster without a namespace."""
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    manifest = _named(RBAC, kind, "hole", namespace) | {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [dict(subject)],
    }
    where = namespace or "the whole cluster"
    return Mutation(f"{role} for {subject['kind']} {subject['name']} in {where}", manifest, {}, "FT-ISO-102")


def _account(name: str, namespace: str) -> dict[str, str]:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def _other(kind: str, name: str) -> dict[str, str]:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}


def of_bindings(tenant: str, home: str, second: str) -> list[Mutation]:
    """Further rights of a tenant's accounts."""
    own, default = _account(tenant, home), _account("default", home)
    reconciler = _named(RBAC, "RoleBinding", f"{tenant}-reconciler", home)
    further = {"op": "add", "path": "/subjects/-", "value": default}
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    role = _named(RBAC, "ClusterRole", "flux-tenancy-tenant")
    return [
        *(binding(each, own, home) for each in ("edit", "admin", "view")),
        *(binding(each, own, second) for each in ("edit", "admin")),
        *(binding("view", own, each) for each in ("kube-system", "flux-system", "default")),
        binding("admin", default, home),
        binding("view", _account("default", second), "kube-system"),
        binding("view", own),
        binding("view", _other("Group", f"system:serviceaccounts:{second}")),
        binding("view", _other("Group", "system:serviceaccounts")),
        binding("view", _other("Group", "system:authenticated")),
        binding("view", _other("User", f"system:serviceaccount:{home}:{tenant}")),
        binding("edit", _other("User", "stranger"), home),
        Mutation("default beside the tenant's account", reconciler, [further], "FT-ISO-100"),
        Mutation(
            "a further rule of the tenant role",
            role,
            [{"op": "add", "path": "/rules/-", "value": everything}],
            "FT-ISO-100",
        ),
    ]


def opening(namespace: str, way: str = "ingress") -> Mutation:
    """A network policy that opens everything which another one closes."""
    spec = {"podSelector": {}, "policyTypes": [way.capitalize()], way: [{}]}
    manifest = _named(NETWORKING, "NetworkPolicy", "hole", namespace) | {"spec": spec}
    return Mutation(f"all {way} in {namespace}", manifest, {}, "FT-ISO-103")


def of_limits(tenant: str, home: str, second: str) -> list[Mutation]:
    """Quotas, Pod Security and network policies."""
    counts = {place: _named("v1", "ResourceQuota", f"{tenant}-objects", place) for place in (home, second)}
    flux = _named("v1", "ResourceQuota", f"{tenant}-flux-objects", second)
    much = {"spec": {"hard": {"count/secrets": "1e8"}}}
    few = {"spec": {"hard": {f"count/{each}": None for each in ("secrets", "configmaps", "jobs.batch")}}}
    deny = {place: _named(NETWORKING, "NetworkPolicy", f"{tenant}-default-deny", place) for place in (home, second)}
    places = {place: _named("v1", "Namespace", place) for place in (home, second)}
    level = "pod-security.kubernetes.io/enforce"

    def labelled(place: str, key: str, value: str | None) -> Mutation:
        change = {"metadata": {"labels": {key: value}}}
        return Mutation(f"{key}={value} in {place}", places[place], change, "FT-ISO-100")

    return [
        *(Mutation(f"1e8 Secrets in {place}", quota, much, "FT-ISO-100") for place, quota in counts.items()),
        Mutation("a quota without three items", counts[home], few, "FT-ISO-100"),
        Mutation("no quota for Flux's objects", flux, None, "FT-ISO-101"),
        labelled(second, level, "privileged"),
        labelled(home, level, "baseline"),
        labelled(home, level, None),
        labelled(home, f"{level}-version", "v1.0"),
        *(Mutation(f"no default-deny in {place}", each, None, "FT-ISO-101") for place, each in deny.items()),
        Mutation("default-deny with open egress", deny[home], {"spec": {"egress": [{}]}}, "FT-ISO-100"),
        Mutation(
            "default-deny for some pods",
            deny[home],
            {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}},
            "FT-ISO-100",
        ),
        opening(home, "ingress"),
        opening(home, "egress"),
        opening(second, "ingress"),
    ]


def of_namespaces(tenant: str, home: str, second: str) -> list[Mutation]:
    """What policies read from namespaces."""
    places = {place: _named("v1", "Namespace", place) for place in (home, second, ELSEWHERE)}

    def annotated(place: str, key: str, value: str) -> Mutation:
        change = {"metadata": {"annotations": {f"flux-tenancy/{key}": value}}}
        return Mutation(f"{key}={value} in {place}", places[place], change, "FT-ISO-100")

    label = {TENANT_LABEL: tenant}
    # Without the mark of the stack, admission refuses the name of a listed tenant.
    marked = {**label, MANAGED_BY_LABEL: MANAGER}
    return [
        annotated(home, "exceptions", "allowed-images node-placement"),
        annotated(second, "service-types", "LoadBalancer"),
        annotated(home, "namespaces", f"{home} {second} kube-system"),
        annotated(home, "sources", "https://*"),
        annotated(second, "service-account", "default"),
        Mutation("no tenant's label", places[second], {"metadata": {"labels": dict.fromkeys(label)}}, "FT-ISO-100"),
        *(
            Mutation(f"the label of {each} elsewhere", places[ELSEWHERE], {"metadata": {"labels": one}}, "FT-ISO-104")
            for each, one in ((tenant, marked), ("nobody", dict.fromkeys(label, "nobody")))
        ),
    ]


_AUDITED = (
    "allowed-sources",
    "tenant-service-account",
    "no-cross-namespace-references",
    "own-namespaces",
    "host-access",
    "service-exposure",
    "tenant-limits",
)


def native_holes(tenant: str, home: str, second: str) -> list[Mutation]:
    """All holes of a stack whose policies Kubernetes evaluates, with a quota and default-deny in two namespaces."""
    place = (tenant, home, second)
    return [*of_bindings(*place), *of_limits(*place), *of_namespaces(*place), *of_native_policies()]


def of_native_policies() -> list[Mutation]:
    """Policies of Kubernetes itself."""

    def policy(name: str) -> Manifest:
        return _named(ADMISSION, "ValidatingAdmissionPolicy", f"flux-tenancy-{name}")

    def bound(name: str) -> Manifest:
        return _named(ADMISSION, "ValidatingAdmissionPolicyBinding", f"flux-tenancy-{name}")

    never = {"op": "add", "path": "/spec/matchConditions/-", "value": {"name": "never", "expression": "false"}}
    others = {"matchResources": {"namespaceSelector": {"matchLabels": {"no": "namespace"}}}}
    always = {"op": "replace", "path": "/spec/validations/0/expression", "value": "true"}
    return [
        *(
            Mutation(f"{name} in Audit", bound(name), {"spec": {"validationActions": ["Audit"]}}, "FT-ISO-100")
            for name in _AUDITED
        ),
        Mutation("a policy for other namespaces", bound("host-access"), {"spec": others}, "FT-ISO-100"),
        Mutation("a policy that is not bound", bound("tenant-access"), None, "FT-ISO-101"),
        Mutation("a policy that is gone", policy("pod-volumes"), None, "FT-ISO-101"),
        Mutation("a policy that never applies", policy("host-access"), [never], "FT-ISO-100"),
        Mutation("a policy that allows everything", policy("host-access"), [always], "FT-ISO-100"),
        Mutation(
            "a policy that fails open", policy("host-access"), {"spec": {"failurePolicy": "Ignore"}}, "FT-ISO-100"
        ),
    ]


def of_labels(tenant: str) -> list[Mutation]:
    """Labels of a tenant that is onboarded by label, once nothing guards them."""
    labels = {TENANT_LABEL: tenant}
    return [
        Mutation(
            f"the tenant's label on {name}",
            _named("v1", "Namespace", name),
            {"metadata": {"labels": labels | more}},
            "FT-ISO-104",
        )
        for name, more in (("kube-system", {}), (ELSEWHERE, {MANAGED_BY_LABEL: MANAGER}))
    ]


UNGUARDED = Mutation(
    "labels that nothing guards",
    _named(ADMISSION, "ValidatingAdmissionPolicyBinding", "flux-tenancy-tenant-labels"),
    None,
    "FT-ISO-101",
)


_KYVERNO = "policies.kyverno.io/v1"
_AUDITED_IN_KYVERNO = (
    "host-access",
    "service-exposure",
    "allowed-sources",
    "tenant-service-account",
    "tenant-limits",
    "allowed-fields",
    "status-writes",
)


def policy_hole(name: str, engine: str, change: str) -> Mutation:
    """A policy that one engine has in Audit, without a validation that may fail, or not at all."""
    policy = (
        _named(_KYVERNO, "ValidatingPolicy", f"flux-tenancy-{name}")
        if engine == "kyverno"
        else _named(ADMISSION, "ValidatingAdmissionPolicy", f"flux-tenancy-{name}")
    )
    audited = policy if engine == "kyverno" else policy | {"kind": "ValidatingAdmissionPolicyBinding"}
    empty = {"spec": {"validations": [{"expression": "true"}]}}
    return {
        "in audit": Mutation(f"{name} in Audit", audited, {"spec": {"validationActions": ["Audit"]}}, "FT-ISO-100"),
        "emptied": Mutation(f"{name} allows everything", policy, empty, "FT-ISO-100"),
        "gone": Mutation(f"{name} is gone", policy, None, "FT-ISO-101"),
    }[change]


def kyverno_settings() -> list[Mutation]:
    """What Kyverno itself is set to leave out."""
    settings = _named("v1", "ConfigMap", "kyverno", "kyverno")
    tenants = {"excludeGroups": "system:nodes,system:serviceaccounts"}
    pods = {"resourceFilters": "[Event,*,*] [Pod,*,*]"}
    exceptions = [
        {"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--enablePolicyException=1"}
    ]
    background = _named("apps/v1", "Deployment", "kyverno-background-controller", "kyverno")
    return [
        *(
            Mutation(f"{next(iter(each))} of tenants", settings, {"data": each}, "FT-ISO-109")
            for each in (tenants, pods, {"excludeClusterRoles": "flux-tenancy-tenant"})
        ),
        Mutation("exceptions that count", background, exceptions, "FT-ISO-109"),
        Mutation("a controller that does not run", background, {"spec": {"replicas": 0}}, "FT-ISO-109"),
    ]


def aggregated() -> Mutation:
    """Further rights of all that have Kubernetes' role `admin`."""
    labels = {"rbac.authorization.k8s.io/aggregate-to-edit": "true"}
    rule = {"apiGroups": ["example.com"], "resources": ["*"], "verbs": ["*"]}
    named = _named(RBAC, "ClusterRole", "hole")
    role = named | {"metadata": named["metadata"] | {"labels": labels}, "rules": [rule]}
    return Mutation("a role that is added to admin", role, {}, "FT-ISO-110")


def kyverno_holes(namespace: str) -> list[Mutation]:
    """Holes in what Kyverno judges in a namespace, beside Kubernetes' own policies."""
    policies = _KYVERNO
    audit = {"spec": {"validationActions": ["Audit"]}}
    reference = {"policyRefs": [{"kind": "ValidatingPolicy", "name": "flux-tenancy-host-access"}]}
    exempt = _named(policies, "PolicyException", "hole", namespace) | {"spec": reference}
    return [
        *(
            Mutation(
                f"{name} in Audit in Kyverno alone",
                _named(policies, "ValidatingPolicy", f"flux-tenancy-{name}"),
                audit,
                "FT-ISO-100",
            )
            for name in _AUDITED_IN_KYVERNO
        ),
        Mutation(
            "an onboarding that generates less",
            _named(policies, "GeneratingPolicy", "flux-tenancy-onboarding"),
            [{"op": "remove", "path": "/spec/generate/0"}],
            "FT-ISO-100",
        ),
        Mutation("an exemption from a policy", exempt, {}, "FT-ISO-105"),
        *kyverno_settings(),
    ]


def capsule_holes(tenant: str) -> list[Mutation]:
    """Holes in what the stack tells Capsule, which restores its webhooks by itself."""

    def told(kind: str, spec: Mapping[str, Any]) -> Mutation:
        object_ = _named(CAPSULE_API, kind, tenant)
        return Mutation(f"{kind} {tenant} with {dict(spec)}", object_, {"spec": spec}, "FT-ISO-100")

    return [told(TENANT, {"namespaceOptions": {"quota": 1000}}), told(TENANT_OWNER, {"clusterRoles": ["admin"]})]
