"""What the inventory compares, and what a profile asks of a cluster without a stack."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kubernetes.client.exceptions import ApiException

from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.vocabulary.names import MANAGED_BY_LABEL, TENANT_LABEL
from flux_tenancy.isolation.inventory import stack as stack_inventory
from flux_tenancy.isolation.inventory import stored
from flux_tenancy.isolation.inventory.intent import Intent, key_of
from flux_tenancy.isolation.inventory.profile import against_profile
from flux_tenancy.isolation.inventory.stack import StackInventory, _of_namespace
from flux_tenancy.isolation.inventory.stored import (
    KYVERNO_POLICY,
    NATIVE_BINDING,
    READ,
    NotComparable,
    Stored,
    described,
    differences,
)
from flux_tenancy.isolation.model import TenantProfile
from flux_tenancy.isolation.scene import Tenancy
from flux_tenancy.operations.drift.differences import Difference, What
from flux_tenancy.operations.drift.foreign_grants import CLUSTER_ROLE_BINDING, ROLE_BINDING, SYNC
from flux_tenancy.operations.drift.kyverno_settings import by_configuration, by_flags, by_replicas
from flux_tenancy.operations.drift.lists import NAMESPACE, NETWORK_POLICY, QUOTA
from tests.support.releases import FLUX_VERSION

TENANT = Tenancy("dev-team", ("apps", "apps-data"), "flux")
Lists = dict[str, list[dict[str, Any]]]


def test_a_field_that_is_not_intended_differs_only_where_all_defaults_are_known():
    intended = {"kind": "A", "metadata": {"name": "a"}, "spec": {"hard": {"pods": "10"}}}
    found = {"kind": "A", "metadata": {"name": "b"}, "spec": {"hard": {"pods": "10", "secrets": "5"}, "scopes": []}}

    assert differences(intended, found, exact=True) == [("spec.hard.secrets", None, "5")]
    assert differences(intended, found, exact=False) == []


@pytest.mark.parametrize(
    ("found", "path"),
    [
        ({"rules": [{"verbs": ["get"]}, {"verbs": ["*"]}]}, "rules"),
        ({"rules": [{"verbs": ["*"]}]}, "rules[0].verbs[0]"),
        ({"rules": []}, "rules"),
        ({}, "rules"),
    ],
)
def test_lists_differ_as_a_whole_or_in_an_entry(found, path):
    intended = {"rules": [{"verbs": ["get"]}]}

    assert [each[0] for each in differences(intended, found, exact=False)] == [path]


def test_many_differences_are_one_line_and_control_characters_are_removed():
    differing = [(f"spec.{number}", None, "a\x1b[2J") for number in range(5)]

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
        ("shop", {TENANT_LABEL: "blue-team"}, True, True),
        ("shop", {TENANT_LABEL: "blue-team"}, False, False),
        ("shop", {TENANT_LABEL: "dev-team"}, True, False),
        ("shop", {TENANT_LABEL: "kube-fans"}, True, False),
        ("kube-system", {TENANT_LABEL: "blue-team"}, True, False),
        ("shop", {TENANT_LABEL: "blue-team", MANAGED_BY_LABEL: "flux-tenancy"}, True, False),
    ],
    ids=["by label", "without onboarding", "a listed tenant", "a reserved name", "of the cluster", "as of the stack"],
)
def test_a_namespace_that_the_stack_does_not_list_is_intended_only_if_kyverno_provisions_it(
    name, labels, onboarding, allowed
):
    listed = {"namespaces": [{"name": "apps"}], "source": {"url": "https://git.example.com/dev-team/apps"}}
    config = StackConfig.model_validate(
        {
            "cluster": {"kubeconfig": "unused"},
            "flux": {"version": FLUX_VERSION, "sha256": "0" * 64},
            "policies": {"onboarding": onboarding},
            "tenants": {"dev-team": listed},
        }
    )

    assert Intent(config, {}).allows({"metadata": {"name": name, "labels": labels}}) is allowed


@pytest.mark.parametrize(
    ("sync", "by", "is_explained"),
    [
        (True, "flux-system", True),
        (True, "infra", True),
        (True, "planted", False),
        (False, "flux-system", False),
    ],
)
def test_only_the_platforms_sync_and_what_it_applies_explain_an_opening(monkeypatch, sync, by, is_explained):
    """Any other Kustomization in flux-system has an inventory of its author's."""
    monkeypatch.setattr(stack_inventory, "served", lambda api: {})
    flux: dict[str, Any] = {"version": FLUX_VERSION, "sha256": "0" * 64}
    if sync:
        flux["sync"] = {"source": {"url": "https://git.example.com/platform"}, "path": "./"}
    config = StackConfig.model_validate({"cluster": {"kubeconfig": "unused"}, "flux": flux})
    inventory = StackInventory(None, Intent(config, {}))  # type: ignore[arg-type]

    def applying(name: str, *entries: str) -> dict[str, Any]:
        applied = {"inventory": {"entries": [{"id": each, "v": "v1"} for each in entries]}}
        return {"kind": "Kustomization", "metadata": {"name": name, "namespace": "flux-system"}, "status": applied}

    of = "kustomize.toolkit.fluxcd.io_Kustomization"
    opened = {"flux-system": [f"flux-system_infra_{of}"], "infra": [], "planted": [f"flux-system_planted_{of}"]}
    opened[by].append("apps_open_networking.k8s.io_NetworkPolicy")
    network = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy"}
    deny, opening = (place(name, podSelector={}, egress=[{}]) | network for name in ("deny", "open"))
    lists: Lists = {type_: [] for type_ in READ} | {
        SYNC: [applying(name, *entries) for name, entries in opened.items()],
        NETWORK_POLICY: [deny, opening],
    }

    found = list(inventory._openings(TENANT, {"apps"}, {key_of(deny): deny}, lists))

    assert [each.target for each in found] == ([] if is_explained else ["NetworkPolicy open"])


def test_the_drift_of_the_platform_and_of_the_tenant_is_reported_and_not_that_of_another_one(monkeypatch):
    monkeypatch.setattr(stack_inventory, "served", lambda api: {})
    config = StackConfig.model_validate(
        {"cluster": {"kubeconfig": "unused"}, "flux": {"version": FLUX_VERSION, "sha256": "0" * 64}}
    )
    inventory = StackInventory(None, Intent(config, {}))  # type: ignore[arg-type]
    lists: Lists = {
        NAMESPACE: [
            {"metadata": {"name": name, "labels": {TENANT_LABEL: tenant}}}
            for name, tenant in (("apps", "dev-team"), ("shop", "shop"))
        ]
    }
    scaled = Difference(What.CHANGED, "Deployment", "flux-system", "helm-controller", "spec.replicas", 1, 0)
    token = Difference(What.FOREIGN, "Secret", "apps", "token", cluster="a token of the account dev-team")
    missing = Difference(What.MISSING, "Namespace", "", "shop")
    others = Difference(What.FOREIGN, "RoleBinding", "shop", "helper", cluster="ClusterRole admin for User bob")

    found = list(inventory._drifted(TENANT, (scaled, token, missing, others), lists))

    assert [(each.code, each.namespace, each.target, each.found, each.intended) for each in found] == [
        ("FT-ISO-111", "flux-system", "Deployment helm-controller", "spec.replicas: 0", "spec.replicas: 1"),
        ("FT-ISO-111", "apps", "Secret token", "foreign: a token of the account dev-team", "foreign: nothing"),
    ]


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


@pytest.mark.parametrize(("annotation", "differs"), [("example.com/note", False), ("flux-tenancy/exceptions", True)])
def test_only_annotations_of_the_platform_are_compared(annotation, differs):
    metadata: dict[str, Any] = {"name": "apps", "labels": {TENANT_LABEL: "dev-team"}}
    namespace = {"kind": "Namespace", "metadata": metadata}
    found = {"metadata": metadata | {"annotations": {annotation: "1"}}}

    assert bool(list(_of_namespace(namespace, found, is_listed=True))) is differs


INTENDED = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "system:one", "namespace": "apps"},
    "roleRef": {"name": "view"},
}
FOUND = {"metadata": {"resourceVersion": "1"}}
ANSWER = INTENDED | {"roleRef": {"name": "view", "kind": "ClusterRole"}}


class Api:
    """Answers each request with the next status and body."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: tuple[int, dict[str, Any]]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str]] = []
        monkeypatch.setattr(stored, "ask", self.ask)
        monkeypatch.setattr(stored, "get", lambda *_: {"metadata": {"resourceVersion": "2"}})
        self.stored = Stored(cast(Any, None))

    def ask(self, _: object, method: str, path: str, body: dict[str, Any], **query: str) -> object:
        assert query == {"dryRun": "All"}
        self.asked.append((method, body["metadata"].get("resourceVersion") or body["metadata"]["name"]))
        status, content = self.answers.pop(0)
        if status >= 400:
            error = ApiException(status=status)
            error.body = json.dumps(content)
            raise error
        return SimpleNamespace(data=json.dumps(content))


def test_each_object_is_asked_for_once(monkeypatch):
    api = Api(monkeypatch, (200, ANSWER))

    assert [api.stored.form(INTENDED, FOUND) for _ in range(2)] == [ANSWER, ANSWER]


def test_an_object_that_has_changed_meanwhile_is_asked_for_again(monkeypatch):
    api = Api(monkeypatch, (409, {}), (200, ANSWER))

    assert api.stored.form(INTENDED, FOUND) == ANSWER
    assert api.asked == [("PUT", "1"), ("PUT", "2")]


def test_an_object_that_nobody_may_change_is_asked_for_under_another_name(monkeypatch):
    api = Api(monkeypatch, (403, {}), (201, ANSWER))

    assert api.stored.form(INTENDED, FOUND) == ANSWER
    assert api.asked == [("PUT", "1"), ("POST", "isolation-suite")]


def test_a_field_that_cannot_be_changed_is_compared_as_it_is(monkeypatch):
    assert Api(monkeypatch, (422, {})).stored.form(INTENDED, FOUND) is None


@pytest.mark.parametrize("answers", [[403, 403], [500, 500], [409, 409, 403]])
def test_no_answer_is_never_taken_for_no_difference(monkeypatch, answers):
    api = Api(monkeypatch, *((status, {"message": "no\x1b[2J"}) for status in answers))

    with pytest.raises(NotComparable, match=r"^no \[2J$"):
        api.stored.form(INTENDED, FOUND)
