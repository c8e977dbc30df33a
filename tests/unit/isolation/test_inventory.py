"""What the inventory compares, and what a profile asks of a cluster without a stack."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kubernetes.client.exceptions import ApiException
from sample_plan import tenant_objects
from sample_stack import flux_config, tenant_config
from urllib3 import HTTPHeaderDict

from flux_tenancy.components.policies import kyverno_only
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.vocabulary.manifests import resource_type
from flux_tenancy.components.vocabulary.names import MANAGED_BY_LABEL, TENANT_LABEL
from flux_tenancy.isolation import inventory
from flux_tenancy.isolation.inventory import KYVERNO_POLICY, StackInventory, described
from flux_tenancy.isolation.model import TenantProfile
from flux_tenancy.isolation.profile import NATIVE_BINDING, READ, against_profile
from flux_tenancy.isolation.scene import Tenancy
from flux_tenancy.operations.admission import dry_run
from flux_tenancy.operations.drift.differences import Difference, What
from flux_tenancy.operations.drift.foreign_grants import CLUSTER_ROLE_BINDING, ROLE_BINDING
from flux_tenancy.operations.drift.generated import Generated
from flux_tenancy.operations.drift.kyverno_settings import by_configuration, by_flags, by_replicas
from flux_tenancy.operations.drift.lists import NAMESPACE, NETWORK_POLICY, QUOTA
from flux_tenancy.operations.drift.managed_fields import MISSING
from flux_tenancy.operations.drift.recorded_state import Recorded, RecordedState
from flux_tenancy.operations.drift.search import Drift
from flux_tenancy.project.errors import OperationError
from tests.support.releases import FLUX_VERSION

TENANT = Tenancy("dev-team", ("apps", "apps-data"), "flux")
Lists = dict[str, list[dict[str, Any]]]


def test_many_differences_are_one_line_and_control_characters_are_removed():
    differing = [(f"spec.{number}", MISSING, "a\x1b[2J") for number in range(5)]

    found, intended = described(differing)

    assert found == "spec.0: a [2J, spec.1: a [2J, spec.2: a [2J, 2 more"
    assert intended == "spec.0: nothing, spec.1: nothing, spec.2: nothing, 2 more"


def place(name: str, **spec: Any) -> dict[str, Any]:
    return {"kind": "Some", "metadata": {"name": name, "namespace": "apps"}, "spec": spec}


def bound(kind: str, role: str, subject: dict[str, str], namespace: str = "") -> dict[str, Any]:
    metadata = {"name": "bound", **({"namespace": namespace} if namespace else {})}
    return {
        "kind": kind,
        "metadata": metadata,
        "roleRef": {"kind": "ClusterRole", "name": role},
        "subjects": [subject],
    }


FLUX = {"kind": "ServiceAccount", "name": "flux", "namespace": "apps"}
DEFAULT = FLUX | {"name": "default"}


def healthy() -> Lists:
    """A cluster that keeps the stricter profile."""
    lists: Lists = {type_: [] for type_ in READ}
    for name in TENANT.namespaces:
        labels = {"pod-security.kubernetes.io/enforce": "restricted", "kubernetes.io/metadata.name": name}
        of_place = {"namespace": name}
        lists[NAMESPACE].append({"kind": "Namespace", "metadata": {"name": name, "labels": labels}})
        deny = place("deny", podSelector={}, policyTypes=["Ingress", "Egress"], egress=[{"ports": [{"port": 53}]}])
        for type_, each in ((QUOTA, place("q", hard={"count/secrets": "100k"})), (NETWORK_POLICY, deny)):
            lists[type_].append(each | {"metadata": each["metadata"] | of_place})
        lists[ROLE_BINDING].append(bound("RoleBinding", "deployer", FLUX, name))
    lists[NATIVE_BINDING].append(place("hosts", validationActions=["Deny"]))
    lists[KYVERNO_POLICY].append(place("hosts"))
    return lists


def without(type_: str, at: int = 1) -> Callable[[Lists], object]:
    return lambda lists: lists[type_].pop(at)


def with_one(type_: str, manifest: dict[str, Any]) -> Callable[[Lists], object]:
    return lambda lists: lists[type_].append(manifest)


def level(value: str) -> Callable[[Lists], object]:
    return lambda lists: lists[NAMESPACE][1]["metadata"]["labels"].update({"pod-security.kubernetes.io/enforce": value})


OPEN = place("open", podSelector={}, egress=[{"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]}])
HOLES: list[tuple[Callable[[Lists], object], str, bool]] = [
    (level("privileged"), "FT-ISO-120", True),
    (level("baseline"), "FT-ISO-120", False),
    (without(QUOTA), "FT-ISO-121", True),
    (lambda lists: lists[QUOTA][0]["spec"].update(hard={"count/secrets": "1e8"}), "FT-ISO-121", True),
    (lambda lists: lists[QUOTA][0]["spec"].update(scopes=["BestEffort"]), "FT-ISO-121", True),
    (without(NETWORK_POLICY), "FT-ISO-122", False),
    (lambda lists: lists[NETWORK_POLICY][0]["spec"].update(policyTypes=["Ingress"]), "FT-ISO-122", False),
    (with_one(NETWORK_POLICY, OPEN), "FT-ISO-123", False),
    (with_one(NETWORK_POLICY, place("open", podSelector={"a": "b"}, ingress=[{}])), "FT-ISO-123", False),
    (with_one(ROLE_BINDING, bound("RoleBinding", "admin", FLUX, "apps")), "FT-ISO-124", False),
    (with_one(ROLE_BINDING, bound("RoleBinding", "edit", DEFAULT, "apps")), "FT-ISO-124", True),
    (with_one(ROLE_BINDING, bound("RoleBinding", "view", FLUX, "kyverno")), "FT-ISO-124", True),
    (with_one(CLUSTER_ROLE_BINDING, bound("ClusterRoleBinding", "view", FLUX)), "FT-ISO-124", True),
    (
        with_one(
            CLUSTER_ROLE_BINDING,
            bound("ClusterRoleBinding", "view", FLUX) | {"metadata": {"name": "flux-tenancy-grants-dev-team"}},
        ),
        "FT-ISO-124",
        True,
    ),
    (with_one(NATIVE_BINDING, place("hosts", validationActions=["Audit", "Warn"])), "FT-ISO-125", False),
    (with_one(KYVERNO_POLICY, place("hosts", validationActions=["Audit"])), "FT-ISO-125", False),
]


@pytest.mark.parametrize("profile", TenantProfile)
def test_a_cluster_that_keeps_the_profile_has_no_findings(profile):
    assert against_profile(profile, TENANT, healthy()) == ()


@pytest.mark.parametrize(("change", "code", "always"), HOLES)
def test_each_hole_is_found_by_the_profile_that_closes_it(change, code, always):
    lists = healthy()
    change(lists)

    [found] = against_profile(TenantProfile.RESTRICTED, TENANT, lists)
    assert found.code == code
    assert all((found.target, found.found, found.intended, found.remedy))
    assert len(against_profile(TenantProfile.BASELINE, TENANT, lists)) == always


@pytest.mark.parametrize(
    "manifest",
    [
        bound("ClusterRoleBinding", "flux-tenancy-grants-dev-team", FLUX)
        | {"metadata": {"name": "flux-tenancy-grants-dev-team"}},
        bound("ClusterRoleBinding", "system:discovery", {"kind": "Group", "name": "system:authenticated"})
        | {"metadata": {"name": "system:discovery", "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}},
        bound("ClusterRoleBinding", "view", {"kind": "Group", "name": "auditors"}),
    ],
)
def test_documented_features_and_others_rights_are_no_findings(manifest):
    lists = healthy()
    lists[CLUSTER_ROLE_BINDING].append(manifest)

    assert against_profile(TenantProfile.RESTRICTED, TENANT, lists) == ()


@pytest.mark.parametrize(
    ("name", "labels", "onboarding", "allowed"),
    [
        ("web", {TENANT_LABEL: "blue-team"}, True, True),
        ("web", {TENANT_LABEL: "blue-team"}, False, False),
        ("web", {TENANT_LABEL: "dev-team"}, True, False),
        ("web", {TENANT_LABEL: "kube-fans"}, True, False),
        ("shop", {TENANT_LABEL: "blue-team"}, True, False),
        ("kube-system", {TENANT_LABEL: "blue-team"}, True, False),
        ("web", {TENANT_LABEL: "blue-team", MANAGED_BY_LABEL: "flux-tenancy"}, True, False),
        ("web", {TENANT_LABEL: "dev-team", MANAGED_BY_LABEL: "capsule"}, False, False),
    ],
    ids=[
        "by label",
        "without onboarding",
        "a listed tenant",
        "a reserved name",
        "of the stack",
        "of the cluster",
        "as of the stack",
        "as of a tenant of Capsule",
    ],
)
def test_a_namespace_that_the_stack_does_not_list_is_intended_only_if_kyverno_provisions_it(
    name, labels, onboarding, allowed
):
    namespace = {"metadata": {"name": name, "labels": labels}}

    assert Generated(recorded(onboarding=onboarding)).allows(namespace) is allowed


def stack(**policies: Any) -> StackConfig:
    """A stack with the tenants dev-team and shop."""
    url = "https://git.example.com/dev-team/apps"
    tenants = {
        name: {"namespaces": [{"name": namespace}], "source": {"url": url}}
        for name, namespace in (("dev-team", "apps"), ("shop", "shop"))
    }
    return StackConfig.model_validate(
        {
            "cluster": {"kubeconfig": "unused"},
            "flux": {"version": FLUX_VERSION, "sha256": "0" * 64},
            "policies": policies,
            "tenants": tenants,
        }
    )


def labelled(name: str, tenant: str) -> dict[str, Any]:
    labels = {TENANT_LABEL: tenant}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def recorded(*, onboarding: bool = False, **_: Any) -> RecordedState:
    """The state of that stack: the tenants' namespaces, and the policies that provision others."""
    policies = kyverno_only.onboarding(TenancyConfig(), flux_config()) if onboarding else []
    applied = [labelled("apps", "dev-team"), labelled("shop", "shop"), *policies]
    return RecordedState("uid", tuple(map(as_recorded, applied)), frozenset())


def as_recorded(manifest: dict[str, Any]) -> Recorded:
    return Recorded("urn", resource_type(manifest), manifest, "pulumi", manifest)


class Held(StackInventory):
    """The inventory of a stack that was applied, in a cluster that the test makes up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **policies: Any) -> None:
        monkeypatch.setattr(inventory, "served", lambda api: {})
        monkeypatch.setattr(inventory, "refusal", lambda *_: None)
        state = recorded(**policies)
        super().__init__(cast(Any, None), stack(**policies), state)
        self.lists: Lists = {type_: [] for type_ in READ}
        self.lists[NAMESPACE] = [each.manifest for each in state.objects if each.type == NAMESPACE]

    def found(self, *drift: Difference, tenant: Tenancy = TENANT) -> list[tuple[str, str, str]]:
        found = self.of(tenant, Drift(drift, 1, (), self.lists))
        return [(each.code, each.namespace, each.target) for each in found]


def foreign(kind: str, namespace: str = "", name: str = "hole") -> Difference:
    return Difference(What.FOREIGN, kind, namespace, name)


@pytest.mark.parametrize(
    ("each", "code"),
    [
        (Difference(What.MISSING, "Role", "apps", "a", urn="urn"), "FT-ISO-101"),
        (Difference(What.CHANGED, "Role", "apps", "a", "rules", urn="urn"), "FT-ISO-100"),
        (Difference(What.ADDED, "Role", "apps", "a", "metadata.labels.a", urn="urn"), "FT-ISO-100"),
        (Difference(What.LEFT, "Role", "apps", "a"), "FT-ISO-111"),
        (Difference(What.CHANGED, "ConfigMap", "kyverno", "a", "data.a"), "FT-ISO-109"),
        (Difference(What.MISSING, "Deployment", "kyverno", "a"), "FT-ISO-109"),
        (foreign("ClusterRoleBinding", name="a"), "FT-ISO-102"),
        (foreign("NetworkPolicy", "apps", "a"), "FT-ISO-103"),
        (foreign("PolicyException", "apps", "a"), "FT-ISO-105"),
        (foreign("ClusterRole", name="a"), "FT-ISO-110"),
        (foreign("Secret", "apps", "a"), "FT-ISO-111"),
    ],
    ids=lambda each: f"{each.what} {each.kind}" if isinstance(each, Difference) else "",
)
def test_what_drift_shows_is_told_by_what_it_means_for_the_tenant(monkeypatch, each, code):
    assert Held(monkeypatch).found(each) == [(code, each.namespace, f"{each.kind} a")]


def test_the_drift_of_the_platform_and_of_the_tenant_is_reported_and_not_that_of_another_one(monkeypatch):
    of_platform, own, missing, others, former = (
        Difference(What.CHANGED, "Deployment", "flux-system", "helm-controller", "spec.replicas", 1, 0, urn="urn"),
        foreign("Secret", "apps", "token"),
        Difference(What.MISSING, "Namespace", "", "shop", urn="urn"),
        foreign("Secret", "shop", "token"),
        Difference(What.CHANGED, "Role", "apps", "a", "metadata.managedFields", by="pulumi-kubernetes-1", urn="urn"),
    )

    assert Held(monkeypatch).found(of_platform, own, missing, others, former) == [
        ("FT-ISO-111", "apps", "Secret token"),
        ("FT-ISO-100", "flux-system", "Deployment helm-controller"),
    ]


def test_the_fields_of_an_object_are_one_discrepancy(monkeypatch):
    changed = [Difference(What.CHANGED, "Role", "apps", "a", field, 1, 2, urn="urn") for field in ("rules", "other")]

    held = Held(monkeypatch)

    [found] = held.of(TENANT, Drift(tuple(changed), 1, (), held.lists))

    assert (found.found, found.intended) == ("rules: 2, other: 2", "rules: 1, other: 1")


@pytest.mark.parametrize(("label", "is_found"), [("dev-team", True), ("nobody", True), ("shop", False), (None, False)])
def test_a_namespace_with_the_label_of_a_tenant_that_does_not_list_it_is_found(monkeypatch, label, is_found):
    held = Held(monkeypatch)
    held.lists[NAMESPACE].append(labelled("elsewhere", label) if label else {"metadata": {"name": "elsewhere"}})

    assert held.found() == [("FT-ISO-104", "elsewhere", "Namespace elsewhere")] * is_found


def test_a_user_who_may_not_list_everything_gets_no_inventory(monkeypatch):
    held = Held(monkeypatch)
    monkeypatch.setattr(inventory, "drift_of", lambda *_: Drift((), 1, ("Secret",)))

    with pytest.raises(OperationError, match="may not list Secret"):
        held.read()


GREEN = Tenancy("green-team", ("green",), "")


class Provisioned(Held):
    """With namespaces that the stack does not list, and what Kyverno or Capsule puts into them.

    Attributes:
        asked: dry runs that were asked, as method and name.
        statuses: what they are answered, if not with success.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, namespace: dict[str, Any], *further: dict[str, Any]) -> None:
        super().__init__(monkeypatch, onboarding=not further)
        self._recorded = replace(self._recorded, objects=(*self._recorded.objects, *map(as_recorded, further)))
        self._generated = Generated(self._recorded)
        self.asked: list[tuple[str, str]] = []
        self.statuses: list[int] = []
        monkeypatch.setattr(dry_run, "ask", self.ask)
        self.lists[NAMESPACE].append(namespace)
        for each in list(self._generated.contents(namespace))[1:]:
            self.lists.setdefault(resource_type(each), []).append(json.loads(json.dumps(each)))

    def ask(self, _: object, method: str, path: str, body: dict[str, Any], **query: str) -> object:
        assert query == {"dryRun": "All"}
        self.asked.append((method, body["metadata"]["name"]))
        if self.statuses:
            error = ApiException(status=self.statuses.pop(0))
            error.body = json.dumps({"message": "no\x1b[2J"})
            raise error
        return SimpleNamespace(status=200, headers=HTTPHeaderDict(), data=json.dumps(body))


def onboarded(monkeypatch: pytest.MonkeyPatch) -> Provisioned:
    """With a namespace that Kyverno has provisioned for green-team."""
    namespace = labelled("green", "green-team")
    namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = "restricted"
    return Provisioned(monkeypatch, namespace)


@pytest.mark.parametrize(
    ("role", "account", "is_found"),
    [
        ("flux-tenancy-tenant", "dev-team", False),
        ("cluster-admin", "dev-team", True),
        ("flux-tenancy-tenant", "default", True),
    ],
    ids=["as Capsule binds it", "another role", "another account"],
)
def test_a_binding_in_a_namespace_that_a_tenant_has_made_is_found_unless_capsule_binds_the_same(
    monkeypatch, role, account, is_found
):
    config = tenant_config(namespaces=[{"name": "apps"}])
    planned = tenant_objects("dev-team", config, TenancyConfig.model_validate({"mode": "capsule"}))
    owners = [each for each in planned.access if each["kind"] == "TenantOwner"]
    namespace = labelled("dev-team-web", "dev-team")
    namespace["metadata"]["labels"][MANAGED_BY_LABEL] = "capsule"
    held = Provisioned(monkeypatch, namespace, *planned.capsule, *owners)
    subject = {"kind": "ServiceAccount", "name": account, "namespace": "apps"}
    held.lists[ROLE_BINDING].append(bound("RoleBinding", role, subject, "dev-team-web"))

    found = [(namespace, target) for code, namespace, target in held.found() if code == "FT-ISO-102"]
    assert found == [("dev-team-web", "RoleBinding bound")] * is_found


def test_what_kyverno_provisions_is_as_intended(monkeypatch):
    held = onboarded(monkeypatch)

    assert held.found(tenant=GREEN) == []
    assert held.asked and {method for method, _ in held.asked} == {"PUT"}


def test_what_is_missing_changed_or_added_in_a_provisioned_namespace_is_found(monkeypatch):
    held = onboarded(monkeypatch)
    held.lists[NETWORK_POLICY].pop()
    held.lists[QUOTA][0]["spec"]["hard"] = {"pods": "100000"}
    held.lists[NAMESPACE][-1]["metadata"]["annotations"] = {"flux-tenancy/exceptions": "host-access"}
    account = {"kind": "ServiceAccount", "name": "default", "namespace": "green"}
    held.lists[ROLE_BINDING].append(bound("RoleBinding", "admin", account, "green"))
    held.lists[CLUSTER_ROLE_BINDING].append(bound("ClusterRoleBinding", "view", account))
    opening = {"kind": "NetworkPolicy", "metadata": {"name": "open", "namespace": "green"}, "spec": {"ingress": [{}]}}
    held.lists[NETWORK_POLICY].append(opening)

    assert {(code, target.partition(" ")[0]) for code, _, target in held.found(tenant=GREEN)} == {
        ("FT-ISO-100", "Namespace"),
        ("FT-ISO-100", "ResourceQuota"),
        ("FT-ISO-101", "NetworkPolicy"),
        ("FT-ISO-102", "ClusterRoleBinding"),
        ("FT-ISO-102", "RoleBinding"),
        ("FT-ISO-103", "NetworkPolicy"),
    }


def test_a_binding_that_only_has_the_name_of_one_that_kyverno_generates_is_found(monkeypatch):
    held = onboarded(monkeypatch)
    forged = next(each for each in held.lists[ROLE_BINDING] if each["metadata"]["name"] == "flux-impersonation")
    forged["roleRef"]["name"] = "cluster-admin"

    assert held.found(foreign("RoleBinding", "green", "flux-impersonation"), tenant=GREEN) == [
        ("FT-ISO-100", "green", "RoleBinding flux-impersonation"),
        ("FT-ISO-102", "green", "RoleBinding flux-impersonation"),
    ]


def test_an_object_that_nobody_may_change_is_asked_for_under_another_name(monkeypatch):
    held = onboarded(monkeypatch)
    held.statuses = [403]

    assert held.found(tenant=GREEN) == []
    assert [method for method, _ in held.asked[:2]] == ["PUT", "POST"] and held.asked[1][1] == "isolation-suite"


def test_no_answer_is_never_taken_for_no_difference(monkeypatch):
    held = onboarded(monkeypatch)
    held.statuses = [500, 500]

    assert [code for code, _, _ in held.found(tenant=GREEN)] == ["FT-ISO-108"]


FILTERS = "[Event,*,*] [Node/?*,*,*] [*/*,kube-system,*] [ClusterRole,*,kyverno:core] [Pod,kyverno,kyverno-*]"


@pytest.mark.parametrize(
    ("data", "found"),
    [
        ({"excludeGroups": "system:nodes", "resourceFilters": FILTERS}, []),
        ({}, []),
        ({"excludeGroups": "system:nodes,system:serviceaccounts:apps"}, ["system:serviceaccounts:apps"]),
        ({"excludeUsernames": "ann"}, ["ann"]),
        ({"excludeRoles": "a"}, ["a"]),
        ({"excludeClusterRoles": "admin"}, ["admin"]),
        ({"matchConditions": "[]"}, ["[]"]),
        ({"resourceFilters": f"{FILTERS} [Pod,*,*]"}, ["[Pod,*,*]"]),
        ({"resourceFilters": f"{FILTERS} [*/*,app*,*]"}, ["[*/*,app*,*]"]),
        ({"resourceFilters": "[Service]"}, ["[Service]"]),
        ({"resourceFilters": "[Event,*,*] Pod,apps,*"}, ["Pod,apps,*"]),
        ({"resourceFilters": "[Pod,tools,*]"}, []),
    ],
)
def test_what_kyvernos_configuration_leaves_out_is_found(data, found):
    assert [each.cluster for each in by_configuration(data, TENANT.namespaces)] == found


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["--enablePolicyException=false", "--forceFailurePolicyIgnore=false", "--v=2"], []),
        ([], []),
        (["--enablePolicyException=true"], ["--enablePolicyException=true"]),
        (["-enablePolicyException"], ["-enablePolicyException"]),
        (["--forceFailurePolicyIgnore=1"], ["--forceFailurePolicyIgnore=1"]),
    ],
)
def test_flags_of_kyverno_that_weaken_policies_are_found(args, found):
    template = {"spec": {"containers": [{"name": "kyverno", "args": args}]}}

    assert [each.cluster for each in by_flags([place("kyverno-admission-controller", template=template)])] == found


@pytest.mark.parametrize(("replicas", "found"), [(0, [0]), (1, []), (3, [])])
def test_a_controller_of_kyverno_that_does_not_run_is_found(replicas, found):
    deployment = place("kyverno-background-controller", replicas=replicas)

    assert [each.cluster for each in by_replicas([deployment])] == found
