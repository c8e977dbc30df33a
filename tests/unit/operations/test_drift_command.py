"""`flux-tenancy drift`: what its commands read, show and change, and when they refuse."""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from commands import Ran, invoke, refusal, told
from fake_cluster import FakeCluster, served
from sample_plan import tenant_objects
from sample_stack import flux_config, tenant_config
from sample_state import (
    APPLIED,
    BINDING,
    CLUSTER_UID,
    CONTROLLER,
    EDITED,
    LISTS,
    MARKS,
    NAMESPACE,
    PULUMI,
    RESOURCES,
    SECRET,
    applied,
    managed,
    resource,
    stored,
)

from flux_tenancy.components.cluster.component import CLUSTER_TYPE
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.installs.flux.controller_rights import SHARED_IMPERSONATION
from flux_tenancy.components.policies.kyverno_only import onboarding
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.vocabulary.manifests import resource_type
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.operations.drift import recorded_state, repair
from flux_tenancy.operations.stack import pulumi_cli
from flux_tenancy.operations.stack.pulumi_cli import UNKNOWN_TO_PULUMI
from flux_tenancy.project.errors import OperationError
from flux_tenancy.review.approval.guard import VARIABLE
from tests.support.messages import said

RBAC = "/apis/rbac.authorization.k8s.io/v1"
NETWORKING = "/apis/networking.k8s.io/v1"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
# How Pulumi prints the secret of the sample's state, and with `--show-secrets`.
SEALED, OPEN = '"ciphertext": "v1:abc"', json.dumps({"plaintext": json.dumps({"token": "cGE1NXdvcmQ="})})[1:-1]
CONFIG_MAPS, OF_KYVERNO = "/api/v1/namespaces/kyverno/configmaps", "/apis/apps/v1/namespaces/kyverno/deployments"
KUSTOMIZATIONS = "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations"
HELM_RELEASES = "/apis/helm.toolkit.fluxcd.io/v2/helmreleases"
IN_INVENTORY = {
    KUSTOMIZATIONS: "kustomize.toolkit.fluxcd.io_Kustomization",
    HELM_RELEASES: "helm.toolkit.fluxcd.io_HelmRelease",
}
OF_PLATFORM = "flux-system_dev-team_kustomize.toolkit.fluxcd.io_Kustomization"
OF_HELM = {"meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": "apps"}
STACK = "config:\n  flux-tenancy:cluster: {kubeconfig: kubeconfig}\n"


def role_binding(name: str = "helper", namespace: str = "apps", **metadata: Any) -> dict[str, Any]:
    """A role binding that somebody has created."""
    entry = managed({"f:roleRef": {}, "f:subjects": {}}, "kubectl-create", EDITED)
    return {
        "metadata": {"name": name, "namespace": namespace, "managedFields": [entry], **metadata},
        "roleRef": {"kind": "ClusterRole", "name": "admin"},
        "subjects": [{"kind": "User", "name": "bob"}],
    }


def cluster_binding(name: str, *subjects: dict[str, str], **metadata: Any) -> dict[str, Any]:
    """A cluster role binding that somebody has created."""
    binding = role_binding(name, **metadata) | {"subjects": list(subjects)}
    del binding["metadata"]["namespace"]
    return binding


def applying(*entries: str, namespace: str = "apps") -> dict[str, Any]:
    """A Kustomization or HelmRelease with these objects in its inventory."""
    inventory = {"entries": [{"id": each, "v": "v1"} for each in entries]}
    return {"metadata": {"name": "dev-team", "namespace": namespace}, "status": {"inventory": inventory}}


def chart(**names: list[str]) -> dict[str, Any]:
    """The release of a chart of the stack, with the names of its objects of RBAC as Pulumi records them."""
    group = "rbac.authorization.k8s.io"
    return {
        "type": "kubernetes:helm.sh/v3:Release",
        "urn": "urn:pulumi:staging::flux-tenancy::kubernetes:helm.sh/v3:Release::kyverno",
        "inputs": {},
        "outputs": {"resourceNames": {f"{kind}.{group}/{group}/v1": each for kind, each in names.items()}},
    }


class Stack:
    """A project with one stack that was applied to a fake cluster.

    Attributes:
        cluster: the cluster, as the update has left it.
        resources: the resources of the state.
        applied: the resources as the last update has applied them.
        previewed: the resources of a preview.
        kept: objects that an update changes, but not back to what it has applied, by name.
        ran: the `pulumi` commands that were run.
    """

    def __init__(self, folder, monkeypatch) -> None:
        self.folder = folder
        self.cluster = FakeCluster(copy.deepcopy(LISTS))
        self.cluster.answers["/version/"] = {"gitVersion": "v1.36.3"}
        # All namespaces in one answer, as few of them come.
        self.cluster.answers["/api/v1/namespaces"] = {"items": self.cluster.objects["/api/v1/namespaces"]}
        self.resources: list[dict[str, Any]] = copy.deepcopy(RESOURCES)
        self.applied = copy.deepcopy(RESOURCES)
        self.previewed: list[dict[str, Any]] = []
        self.kept: dict[str, dict[str, Any]] = {}
        self.ran: list[list[str]] = []
        self.cluster.patching = self._patched
        (folder / "Pulumi.yaml").write_text("name: flux-tenancy\n")
        (folder / "Pulumi.staging.yaml").write_text(STACK)
        monkeypatch.chdir(folder)
        monkeypatch.setattr(recorded_state, "run_pulumi", self._pulumi)
        monkeypatch.setattr(repair, "run_pulumi", self._pulumi)
        monkeypatch.setattr(pulumi_cli, "run_pulumi", self._pulumi)

    def _pulumi(self, arguments: list[str], stack: str, project, **_: object) -> str:
        assert (stack, project) == ("staging", self.folder)
        if arguments == ["stack", "export"]:
            return json.dumps({"deployment": {"resources": self.resources}})
        self.ran.append(list(arguments))
        if arguments[0] == "refresh":
            self.resources = [
                each
                for each in self.resources
                if each["urn"] not in arguments or self._refreshed(each)  # What is missing leaves the state.
            ]
        if arguments[0] == "stack":
            return json.dumps(
                {"deployment": {"resources": json.loads(json.dumps(self.resources).replace(SEALED, OPEN))}}
            )
        if arguments[0] == "preview":
            steps = [{"op": "same", "newState": each} for each in self.previewed]
            return json.dumps({"steps": steps})
        return ""

    def _refreshed(self, resource: dict[str, Any]) -> bool:
        """Copy an object of the cluster into the state; whether there is one."""
        kind, name = resource["type"].rpartition(":")[2], resource["outputs"]["metadata"]["name"]
        lists = (each for path, each in self.cluster.objects.items() if path.rpartition("/")[2][:5] == kind.lower()[:5])
        found = next((each for listed in lists for each in listed if each["metadata"]["name"] == name), None)
        if found is not None:
            resource["outputs"] |= copy.deepcopy(found)
            resource["inputs"] = applied(copy.deepcopy(found))
        return found is not None

    def _patched(self, path: str, patch: Any) -> dict[str, Any]:
        """What the API server has after a patch: what was applied, and what others have added until it is removed."""
        name, plural = path.rpartition("/")[2], path.rpartition("/")[0].rpartition("/")[2]
        listed = next(each for at, each in self.cluster.objects.items() if at.endswith(f"/{plural}"))
        at = next(index for index, each in enumerate(listed) if each["metadata"]["name"] == name)
        was = next(each["outputs"] for each in self.applied if each["outputs"].get("metadata", {}).get("name") == name)
        now = self.kept.get(name, was)
        listed[at] = {key: each for key, each in copy.deepcopy(now).items() if not key.startswith("__")}
        return listed[at]

    def run(self, *arguments: str, command: str = "show") -> Ran:
        with served(self.cluster, self.folder):
            return invoke("drift", command, "--stack", "staging", *arguments)

    def found(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(told(self.run("--output", "json")))["differences"]
        return found

    def the(self, path: str, name: str) -> dict[str, Any]:
        return next(each for each in self.cluster.objects[path] if each["metadata"]["name"] == name)

    def platform_namespace(self, name: str) -> None:
        """Add a namespace of the stack that no tenant has."""
        namespace = copy.deepcopy(NAMESPACE)
        namespace["metadata"] |= {"name": name, "labels": {}}
        self.resources.append(resource("kubernetes:core/v1:Namespace", namespace))
        self.cluster.objects["/api/v1/namespaces"].append(namespace)

    def applies(self, sync: dict[str, Any]) -> None:
        """Add a Kustomization of the stack that has applied something."""
        kind = {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization"}
        manifest = stored({**kind, **sync}, {})
        self.resources.append(resource(f"kubernetes:{kind['apiVersion']}:{kind['kind']}", manifest))
        self.cluster.objects.setdefault(KUSTOMIZATIONS, []).append(manifest)

    def edit_flag(self) -> None:
        """Change a flag of a controller as `kubectl edit` does."""
        controller = self.the("/apis/apps/v1/deployments", "kustomize-controller")
        controller["spec"]["template"]["spec"]["containers"][0]["args"] = ["--log-level=\x1b[2Jdebug"]
        fields: dict[str, Any] = {"f:containers": {'k:{"name":"manager"}': {"f:args": {}}}}
        entry = managed({"f:spec": {"f:template": {"f:spec": fields}}}, "kubectl-edit", EDITED)
        controller["metadata"]["managedFields"].append(entry)

    def switch_to_audit(self) -> None:
        """Switch a policy to audit as `kubectl patch` does."""
        binding = self.cluster.objects[BINDINGS][0]
        binding["spec"]["validationActions"] = ["Audit", "Warn"]
        actions: dict[str, Any] = {'v:"Warn"': {}, 'v:"Audit"': {}}
        entry = managed({"f:spec": {"f:validationActions": actions}}, "kubectl-patch", EDITED)
        binding["metadata"]["managedFields"].append(entry)


@pytest.fixture
def stack(tmp_path, monkeypatch) -> Stack:
    return Stack(tmp_path, monkeypatch)


def test_a_cluster_as_the_update_has_left_it_has_no_drift(stack):
    code, out, error = stack.run("--exit-code")

    assert (code, error) == (0, "")
    assert "7 objects of the stack are in the cluster" in out


def test_an_edited_flag_is_shown_with_manager_and_time_and_without_control_characters(stack):
    stack.edit_flag()

    code, out, _ = stack.run("--exit-code")

    assert (code, stack.run().code) == (1, 0)
    assert "Deployment flux-system/kustomize-controller" in out
    assert "kubectl-edit" in out and "2026-11-24 09:15 UTC" in out
    assert "--log-level=info" in out and "[2Jdebug" in out
    assert "\x1b" not in out
    assert "`flux-tenancy drift repair --stack staging` restores what is changed" in out and "make" not in out


@pytest.mark.parametrize("now", ["deleted", "being deleted", "no longer served"])
def test_a_network_policy_that_does_not_stay_is_missing(stack, now):
    if now == "deleted":
        stack.cluster.objects[f"{NETWORKING}/networkpolicies"] = []
    elif now == "being deleted":
        stack.the(f"{NETWORKING}/networkpolicies", "allow-egress")["metadata"]["deletionTimestamp"] = EDITED
    else:
        del stack.cluster.objects[f"{NETWORKING}/networkpolicies"]

    (found,) = stack.found()

    assert (found["what"], found["kind"], found["namespace"], found["name"], found["by"]) == (
        "missing",
        "NetworkPolicy",
        "flux-system",
        "allow-egress",
        "",
    )


def test_a_role_binding_added_by_hand_in_a_tenants_namespace_is_shown_with_what_it_grants(stack):
    stack.cluster.objects[f"{RBAC}/rolebindings"].append(role_binding())

    (found,) = stack.found()

    assert (found["what"], found["namespace"], found["name"]) == ("foreign", "apps", "helper")
    assert found["cluster"] == "ClusterRole admin for User bob"
    assert (found["by"], found["since"]) == ("kubectl-create", EDITED)
    # A name that a shell would interpret is not put into a command.
    stack.cluster.objects[f"{RBAC}/rolebindings"].append(role_binding("x;reboot"))
    out = stack.run().out
    assert "kubectl delete rolebinding helper -n apps" in out and "kubectl delete rolebinding … -n apps" in out


def test_what_a_tenant_has_applied_from_git_and_what_a_chart_of_the_stack_has_are_not_shown(stack):
    stack.cluster.objects[f"{RBAC}/rolebindings"] += [
        role_binding("from:git"),
        role_binding("from-helm", annotations=OF_HELM),
        role_binding("elsewhere", "default"),
        role_binding("of:chart"),
    ]
    stack.resources.append(chart(RoleBinding=["apps/of:chart"]))
    entries = "apps_from__git_rbac.authorization.k8s.io_RoleBinding", "apps_dev-team_helm.toolkit.fluxcd.io_HelmRelease"
    stack.applies(applying(*entries))
    stack.cluster.objects[HELM_RELEASES] = [applying("apps_from-helm_rbac.authorization.k8s.io_RoleBinding")]

    assert stack.found() == []


@pytest.mark.parametrize("path", [KUSTOMIZATIONS, HELM_RELEASES])
def test_what_a_sync_has_applied_is_shown_if_nothing_of_the_stack_has_applied_the_sync(stack, path):
    """It may name itself in its own inventory."""
    stack.platform_namespace("flux-system")
    stack.cluster.objects[f"{RBAC}/rolebindings"].append(role_binding())
    account = {"kind": "ServiceAccount", "name": "kustomize-controller", "namespace": "flux-system"}
    stack.cluster.objects[f"{RBAC}/clusterrolebindings"] = [cluster_binding("more", account)]
    planted = applying(
        "apps_helper_rbac.authorization.k8s.io_RoleBinding",
        "_more_rbac.authorization.k8s.io_ClusterRoleBinding",
        f"flux-system_dev-team_{IN_INVENTORY[path]}",
        namespace="flux-system",
    )
    stack.cluster.objects[path] = [planted]
    found = {(each["what"], each["kind"], each["name"]) for each in stack.found()}
    assert found >= {("foreign", "RoleBinding", "helper"), ("foreign", "ClusterRoleBinding", "more")}
    assert ("foreign", IN_INVENTORY[path].partition("_")[2], "dev-team") in found

    own = applying(f"flux-system_dev-team_{IN_INVENTORY[path]}", namespace="flux-system")
    own["metadata"]["name"] = "flux-system"
    stack.applies(own)
    assert stack.found() == [], "the platform's sync has applied it"


@pytest.mark.parametrize(
    "claim",
    [
        {"annotations": OF_HELM, "labels": {"app.kubernetes.io/managed-by": "Helm"}},
        {"labels": {"kustomize.toolkit.fluxcd.io/name": "dev-team", "kustomize.toolkit.fluxcd.io/namespace": "apps"}},
        {"labels": {"helm.toolkit.fluxcd.io/name": "shop", "helm.toolkit.fluxcd.io/namespace": "apps"}},
        {"labels": {"projectcapsule.dev/managed-by": "controller"}},
        {"labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}},
    ],
)
def test_what_only_claims_to_be_applied_by_a_controller_is_shown(stack, claim):
    """Anybody can write labels and annotations; what Flux and Helm have applied is in an inventory."""
    stack.cluster.objects[f"{RBAC}/rolebindings"].append(role_binding("system:forged", **claim))
    stack.cluster.objects[HELM_RELEASES] = [applying("apps_another_rbac.authorization.k8s.io_RoleBinding")]

    assert [(each["what"], each["name"]) for each in stack.found()] == [("foreign", "system:forged")]


@pytest.mark.parametrize(
    ("path", "kind", "namespace", "spec"),
    [
        (f"{NETWORKING}/networkpolicies", "NetworkPolicy", "apps", {"podSelector": {}, "ingress": [{}]}),
        ("/apis/policies.kyverno.io/v1/policyexceptions", "PolicyException", "elsewhere", {"policyRefs": []}),
        ("/apis/kyverno.io/v2/policyexceptions", "PolicyException", "elsewhere", {"exceptions": []}),
    ],
)
def test_what_allows_more_and_is_nobodys_is_shown(stack, path, kind, namespace, spec):
    """A network policy in a namespace of the stack, an exception from Kyverno's policies wherever it is."""
    planted = {"metadata": {"name": "open", "namespace": namespace}, "spec": spec}
    stack.cluster.objects[path] = [*stack.cluster.objects.get(path, ()), planted]

    (found,) = stack.found()

    assert [found[key] for key in ("what", "kind", "namespace", "cluster")] == ["foreign", kind, namespace, spec]


def test_a_cluster_role_binding_for_a_tenants_account_is_shown_once(stack):
    stack.platform_namespace("flux-system")
    account = {"kind": "ServiceAccount", "name": "dev-team", "namespace": "apps"}
    of_platform = {"kind": "ServiceAccount", "name": "kustomize-controller", "namespace": "flux-system"}
    stack.cluster.answers[f"{RBAC}/clusterroles/admin"] = {
        "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}]
    }
    stack.cluster.objects[f"{RBAC}/clusterrolebindings"] = [
        cluster_binding("more", account),
        cluster_binding("both", account, of_platform),
        cluster_binding("other", {"kind": "User", "name": "admin"}),
        # Clouds have such bindings, and they reach no tenant.
        cluster_binding("everybody", {"kind": "Group", "name": "system:authenticated"}),
        cluster_binding("group", {"kind": "Group", "name": "system:serviceaccounts:apps"}),
    ]

    assert [(each["what"], each["kind"], each["name"]) for each in stack.found()] == [
        ("foreign", "ClusterRoleBinding", "both"),
        ("foreign", "ClusterRoleBinding", "group"),
        ("foreign", "ClusterRoleBinding", "more"),
    ]


@pytest.mark.parametrize("has_tenants", [True, False])
@pytest.mark.parametrize("group", ["system:authenticated", "system:serviceaccounts", "system:unauthenticated"])
def test_a_cluster_role_binding_for_everybody_is_shown_if_it_reaches_what_others_have(stack, group, has_tenants):
    if not has_tenants:
        stack.resources = [each for each in stack.resources if each["outputs"].get("kind") != "Namespace"]
        stack.platform_namespace("flux-system")
    everybody = cluster_binding("eve", {"kind": "Group", "name": group}, annotations=OF_HELM)
    everybody["roleRef"]["name"] = "cluster-admin"
    stack.cluster.answers[f"{RBAC}/clusterroles/cluster-admin"] = {
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    }
    stack.cluster.objects[f"{RBAC}/clusterrolebindings"] = [everybody]

    found = [(each["what"], each["cluster"]) for each in stack.found() if each["name"] == "eve"]
    assert found == [("foreign", f"ClusterRole cluster-admin for Group {group}")]


def aggregated(name: str, to: str, *rules: dict[str, Any], **labels: str) -> dict[str, Any]:
    """A ClusterRole that is added to one of Kubernetes' roles."""
    labels |= {f"rbac.authorization.k8s.io/aggregate-to-{to}": "true"}
    return {"metadata": {"name": name, "labels": labels}, "rules": list(rules)}


READS_SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}


@pytest.mark.parametrize(
    ("to", "bound", "is_shown"),
    [
        ("view", "view", True),
        ("view", "admin", True),
        ("admin", "admin", True),
        ("admin", "view", False),
        ("view", "cluster-admin", False),
    ],
)
def test_a_cluster_role_that_is_added_to_a_role_that_somebody_has_is_shown(stack, to, bound, is_shown):
    binding = role_binding()
    binding["roleRef"]["name"] = bound
    stack.cluster.objects[f"{RBAC}/rolebindings"].append(binding)
    role = aggregated("wide", to, READS_SECRETS, **{"kubernetes.io/bootstrapping": "rbac-defaults"})
    stack.cluster.objects[f"{RBAC}/clusterroles"] = [role]

    found = [(each["name"], each["cluster"]) for each in stack.found() if each["kind"] == "ClusterRole"]
    assert found == ([("wide", f"get secrets, added to {to}")] if is_shown else [])


def test_cluster_roles_that_add_nothing_to_what_tenants_have_or_that_flux_has_applied_are_not_shown(stack):
    stack.cluster.objects[f"{RBAC}/rolebindings"].append(role_binding())
    metrics = {"apiGroups": ["metrics.k8s.io"], "resources": ["pods"], "verbs": ["get", "list"]}
    stack.cluster.objects[f"{RBAC}/clusterroles"] = [
        aggregated("system:aggregate-to-edit", "edit", READS_SECRETS),
        aggregated("system:aggregated-metrics-reader", "view", metrics),
        aggregated("of:chart", "edit", READS_SECRETS),
        {"metadata": {"name": "not-added"}, "rules": [READS_SECRETS]},
    ]
    entry = "_of__chart_rbac.authorization.k8s.io_ClusterRole"
    stack.cluster.objects[HELM_RELEASES] = [applying(entry, namespace="monitoring")]
    assert [each["name"] for each in stack.found()] == ["of:chart", "helper"], "nothing of the stack has applied it"

    stack.platform_namespace("flux-system")
    stack.applies(applying("monitoring_dev-team_helm.toolkit.fluxcd.io_HelmRelease", namespace="flux-system"))
    assert [each["name"] for each in stack.found()] == ["helper"]

    stack.cluster.objects[HELM_RELEASES] = [applying(entry)]
    assert [each["name"] for each in stack.found()] == ["of:chart", "helper"], "a tenant's own word does not count"


@pytest.mark.parametrize(
    ("subject", "is_shown"),
    [
        ({"kind": "ServiceAccount", "name": "kustomize-controller", "namespace": "flux-system"}, True),
        ({"kind": "User", "name": "system:serviceaccount:flux-system:kustomize-controller"}, True),
        ({"kind": "Group", "name": "system:serviceaccounts:flux-system"}, True),
        ({"kind": "ServiceAccount", "name": "kustomize-controller", "namespace": "elsewhere"}, False),
    ],
)
def test_a_cluster_role_binding_for_an_account_of_the_platform_is_shown(stack, subject, is_shown):
    stack.platform_namespace("flux-system")
    stack.resources.append(chart(ClusterRoleBinding=["of:chart", "kyverno/more"]))
    stack.cluster.objects[f"{RBAC}/clusterrolebindings"] = [
        cluster_binding("more", subject),
        cluster_binding("forged", subject, annotations=OF_HELM | {"meta.helm.sh/release-name": "kyverno"}),
        cluster_binding("of:chart", subject),
        cluster_binding("of-git", subject),
    ]
    entries = "_of-git_rbac.authorization.k8s.io_ClusterRoleBinding", OF_PLATFORM
    stack.applies(applying(*entries, namespace="flux-system"))

    found = [("foreign", "forged"), ("foreign", "more")] if is_shown else []
    assert [(each["what"], each["name"]) for each in stack.found()] == found


@pytest.mark.parametrize("path", [KUSTOMIZATIONS, HELM_RELEASES])
def test_a_sync_beside_those_of_the_platform_is_shown_unless_the_platforms_flux_has_applied_it(stack, path):
    """A tenant's own are the tenant's, and its Flux vouches for nothing in a namespace of the platform."""
    stack.platform_namespace("flux-system")
    beside = {"metadata": {"name": "beside", "namespace": "flux-system"}, "spec": {"path": "./"}}
    stack.cluster.objects[path] = [
        beside,
        applying(f"flux-system_beside_{IN_INVENTORY[path]}"),
        {"metadata": {"name": "of-tenant", "namespace": "apps"}, "spec": {}},
    ]
    assert [(each["what"], each["name"], each["cluster"]) for each in stack.found()] == [
        ("foreign", "beside", {"path": "./"})
    ]

    stack.applies(applying(f"flux-system_beside_{IN_INVENTORY[path]}", namespace="flux-system"))
    assert stack.found() == []


def test_a_further_binding_of_a_policy_of_the_stack_is_shown(stack):
    api, kind = "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"
    policy = stored({"apiVersion": api, "kind": kind, "metadata": {"name": "flux-tenancy-host-access"}}, {})
    stack.resources.append(resource(f"kubernetes:{api}:{kind}", policy))
    stack.cluster.objects["/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"] = [policy]
    own = stack.the(BINDINGS, "flux-tenancy-host-access")["spec"]
    stack.cluster.objects[BINDINGS] += [
        {"metadata": {"name": "second"}, "spec": own | {"validationActions": ["Deny"]}},
        {"metadata": {"name": "of-others"}, "spec": own | {"policyName": "of-others"}},
    ]

    assert [(each["what"], each["name"]) for each in stack.found()] == [("foreign", "second")]


@pytest.mark.parametrize(("hard", "is_shown"), [({"pods": "0"}, True), ({"pods": "1500"}, False), ({}, False)])
def test_a_quota_of_nobody_is_shown_if_it_lets_nothing_start(stack, hard, is_shown):
    """Clouds put quotas of their own into namespaces."""
    own = stored({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "own", "namespace": "apps"}}, {})
    stack.resources.append(resource("kubernetes:core/v1:ResourceQuota", own))
    stack.cluster.objects["/api/v1/resourcequotas"] = [
        {"metadata": {"name": "beside", "namespace": namespace}, "spec": {"hard": hard}}
        for namespace in ("apps", "default")
    ] + [own]

    assert [(each["namespace"], each["cluster"]) for each in stack.found()] == [("apps", {"hard": hard})] * is_shown


def test_an_object_with_the_programs_marks_that_the_state_does_not_have_is_left_over(stack):
    fields = managed({"f:metadata": {"f:annotations": {}}}, PULUMI)
    marked = {"name": "old", "namespace": "apps", "annotations": {**MARKS, "kustomize.toolkit.fluxcd.io/x": ""}}
    stack.cluster.objects["/api/v1/secrets"].append({"metadata": {**marked, "managedFields": [fields]}})

    assert [(each["what"], each["kind"], each["name"]) for each in stack.found()] == [("left", "Secret", "old")]


def test_an_object_that_waits_for_its_deletion_is_not_left_over(stack):
    leaving = copy.deepcopy(next(each for each in stack.resources if each["type"].endswith("NetworkPolicy")))
    leaving |= {"delete": True, "id": "flux-system/replaced"}
    leaving["outputs"]["metadata"]["name"] = "replaced"
    stack.resources.append(leaving)
    stack.cluster.objects[f"{NETWORKING}/networkpolicies"].append(leaving["outputs"])

    assert stack.found() == []


def test_kinds_that_this_user_may_not_list_are_named_and_the_rest_is_compared(stack):
    """Also the settings of Kyverno."""
    kyvernos(stack, 1, "[Pod,*,*]")
    stack.cluster.forbidden = ("/api/v1/secrets", CONFIG_MAPS)
    stack.edit_flag()

    _, out, _ = stack.run()

    assert "kubectl-edit" in out
    assert "Not compared, since this user may not list them: ConfigMap, Secret." in out


def test_another_cluster_than_the_stacks_is_refused(stack):
    stack.the("/api/v1/namespaces", "kube-system")["metadata"]["uid"] = "another"

    error = refusal(stack.run())

    assert "FT-OPS-051" in error and CLUSTER_UID in error


def test_a_stack_that_was_never_applied_is_refused(stack):
    stack.resources = []

    assert "FT-OPS-050" in refusal(stack.run())


@pytest.mark.parametrize(
    "failure", [{"status": 500}, {"broken": (f"{NETWORKING}/networkpolicies",)}], ids=["whole cluster", "one list"]
)
def test_a_cluster_that_does_not_answer_is_an_error_of_the_stack_file(stack, failure):
    """A list that fails is not one that this user may not read."""
    vars(stack.cluster).update(failure)

    assert "Pulumi.staging.yaml: cluster.kubeconfig" in refusal(stack.run())


def test_of_secrets_only_the_metadata_is_read(stack):
    stack.run()

    wanted = {path: header.partition(",")[0] for path, header in stack.cluster.accepted.items() if "secrets" in path}
    assert wanted == {"/api/v1/secrets": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}


def applies(stack: Stack) -> list[tuple[str, Any]]:
    """What was applied, by the name of the object."""
    return [
        (path.partition("?")[0].rpartition("/")[2], patch)
        for path, patch in stack.cluster.patched
        if f"?fieldManager={PULUMI}&force=true" in path
    ]


def test_repair_applies_what_has_changed_removes_what_was_added_and_refreshes_what_is_missing(stack):
    stack.edit_flag()
    stack.switch_to_audit()
    stack.cluster.objects[f"{NETWORKING}/networkpolicies"] = []
    stack.cluster.objects[f"{RBAC}/rolebindings"].append(role_binding())
    name = "flux-tenancy-host-access"
    [kept] = copy.deepcopy(stack.cluster.objects[BINDINGS])
    kept["spec"]["validationActions"] = ["Audit", "Deny", "Warn"]
    stack.kept[name] = kept

    code, _, error = stack.run(command="repair")

    assert code == 0
    assert "kubectl-patch" in error, "what is repaired is shown"
    assert applies(stack) == [("kustomize-controller", applied(CONTROLLER)), (name, applied(BINDING))]
    kept["spec"]["validationActions"] = ["Deny"]
    assert stack.cluster.patched[-1] == (f"{BINDINGS}/{name}?fieldManager={PULUMI}", kept)
    assert "2 objects restored; the next `pulumi up` creates what is missing (1)." in error
    _, refresh = stack.ran
    assert refresh[:3] == ["refresh", "--yes", "--skip-preview"]
    assert [each.rpartition("::")[2] for each in refresh[4::2]] == ["flux-system/allow-egress"]


def test_repair_applies_a_secret_as_it_is_and_shows_nothing_of_it(stack):
    secret = stack.the("/api/v1/secrets", "dev-team-webhook")
    fields = secret["metadata"]["managedFields"][0]["fieldsV1"]
    fields["f:data"] = {}
    secret["metadata"]["managedFields"].append(managed({"f:data": {"f:token": {}}}, "kubectl-edit", EDITED))

    code, out, error = stack.run(command="repair")

    assert code == 0
    assert stack.ran[1:] == [["stack", "export", "--show-secrets"]]
    assert applies(stack) == [("dev-team-webhook", {**applied(SECRET), "data": {"token": "cGE1NXdvcmQ="}})]
    assert "cGE1NXdvcmQ=" not in out + error


def refreshed(stack: Stack) -> dict[str, Any]:
    """The controller of the state, after a refresh has copied an edited flag."""
    stack.edit_flag()
    controller = stack.the("/apis/apps/v1/deployments", "kustomize-controller")
    fields = controller["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:template"]["f:spec"]
    del fields["f:containers"]['k:{"name":"manager"}']["f:args"]
    found = next(each for each in stack.resources if each["type"].endswith("Deployment"))
    found["inputs"] = applied(copy.deepcopy(controller))
    found["outputs"] |= copy.deepcopy(controller)
    return found


def test_a_repair_after_a_refresh_asks_a_preview_how_an_object_should_be(stack):
    now = refreshed(stack)
    stack.previewed = [{**now, "inputs": applied(CONTROLLER)}]

    code, _, _ = stack.run(command="repair")

    assert (code, applies(stack)) == (0, [("kustomize-controller", applied(CONTROLLER))])
    assert stack.found() == []


@pytest.mark.parametrize("hidden", ["04da6b54-80e4-46f7-96ec-b56ff0331ba9", "[secret]"])
def test_a_repair_after_a_refresh_leaves_what_only_an_update_knows_and_fails(stack, hidden):
    now = refreshed(stack)
    stack.previewed = [{**now, "inputs": {"metadata": {"name": hidden}}}]

    code, _, error = stack.run(command="repair")

    assert (code, stack.cluster.patched) == (2, [])
    assert "FT-OPS-052" in error and "only an update knows how it should be" in error


def test_a_repair_fails_if_somebody_writes_the_difference_again(stack, monkeypatch):
    stack.edit_flag()
    again = copy.deepcopy(stack.the("/apis/apps/v1/deployments", "kustomize-controller"))
    stack.cluster.patching = lambda *_: again
    one = stack.cluster.one
    monkeypatch.setattr(stack.cluster, "one", lambda path: copy.deepcopy(one(path)))

    code, _, error = stack.run(command="repair")

    assert code == 2
    assert "FT-OPS-052" in error
    assert "Deployment flux-system/kustomize-controller: spec.template.spec.containers[manager].args" in error
    assert stack.found() != []


@pytest.mark.parametrize("edit", [Stack.edit_flag, Stack.switch_to_audit])
def test_a_repair_beside_another_update_changes_nothing(stack, monkeypatch, edit):
    """What that one applies is not in the state yet, so a repair would undo it."""
    edit(stack)

    def is_locked(arguments: list[str], *_: object) -> str:
        assert "**::pulumi:pulumi:Stack::**" in arguments
        raise OperationError(Message("FT-OPS-340", "locked", "wait"))

    monkeypatch.setattr(pulumi_cli, "run_pulumi", is_locked)

    code, _, error = stack.run(command="repair")

    assert (code, stack.cluster.patched) == (2, [])
    assert "FT-OPS-340" in error


def test_a_repair_waits_for_what_is_being_deleted(stack, monkeypatch):
    """A refresh finds it there, and an update would apply to what then goes."""
    policies = stack.cluster.objects[f"{NETWORKING}/networkpolicies"]
    policy = stack.the(f"{NETWORKING}/networkpolicies", "allow-egress")
    policy["metadata"]["deletionTimestamp"] = EDITED
    monkeypatch.setattr("time.sleep", lambda _: policies.remove(policy))

    code, _, error = stack.run(command="repair")

    assert (code, stack.found()) == (0, [])
    assert "Waiting until objects are deleted: NetworkPolicy flux-system/allow-egress" in error
    assert not any("allow-egress" in each["urn"] for each in stack.resources)


def test_a_repair_names_what_is_still_being_deleted(stack, monkeypatch):
    """Finalizers of controllers that are gone block it."""
    stack.the(f"{NETWORKING}/networkpolicies", "allow-egress")["metadata"]["deletionTimestamp"] = EDITED
    monkeypatch.setattr(repair, "DELETION_SECONDS", 0)
    monkeypatch.setattr("time.sleep", lambda _: None)

    code, _, error = stack.run(command="repair")

    assert code == 2
    assert "FT-OPS-345" in error and "still being deleted after 0 s: NetworkPolicy flux-system/allow-egress" in error


def test_repair_does_nothing_to_a_cluster_without_drift_or_before_the_first_update(stack):
    nothing = "Stack staging has not been applied yet: there is nothing to repair.\n"
    unchanged = "7 objects of the stack are in the cluster as the last update has applied them.\n"
    assert stack.run(command="repair") == (0, "", unchanged)

    stack.resources = []
    assert stack.run(command="repair") == (0, "", nothing)
    assert (stack.ran, stack.cluster.patched) == ([], [])


def killed_update(stack: Stack) -> None:
    """Change a field of a controller as an update does that is killed before it has recorded that."""
    controller = stack.the("/apis/apps/v1/deployments", "kustomize-controller")
    controller["spec"]["replicas"] = 2
    controller["metadata"]["managedFields"][0]["time"] = EDITED


def test_what_a_killed_update_has_written_is_left_to_the_next_one_and_restored_after_it(stack):
    """Restored before, a path of a sync would change twice, and Flux prune what it applies."""
    killed_update(stack)
    stack.switch_to_audit()

    with served(stack.cluster, stack.folder):
        earlier = repair.repair("staging", stack.folder, update_follows=True)

    assert earlier == repair.Earlier(CLUSTER_UID, interrupted=True)
    assert [name for name, _ in applies(stack)] == ["flux-tenancy-host-access"]

    assert stack.run(command="repair")[0] == 0
    assert [name for name, _ in applies(stack)][1:] == ["kustomize-controller"]


@pytest.mark.parametrize("update_follows", [True, False])
def test_the_field_manager_of_a_killed_update_ends_once_pulumi_owns_the_object(stack, update_follows):
    """The other way round, the object would lose its fields. If this is interrupted, the next repair does the rest."""
    killed = "pulumi-kubernetes-0a1b2c3d"
    former = managed({"f:spec": {"f:replicas": {}}}, killed, EDITED)
    paths = {"/apis/apps/v1/deployments": "kustomize-controller", "/api/v1/namespaces": NAMESPACE["metadata"]["name"]}
    for path, name in paths.items():
        stack.the(path, name)["metadata"]["managedFields"].append(former)

    def patched(path: str, _: Any) -> dict[str, Any]:
        plural, _, name = path.partition("?")[0].rpartition("/")
        at = next(each for each in paths if each.rpartition("/")[2] == plural.rpartition("/")[2])
        found: dict[str, Any] = stack.the(at, name)
        if f"fieldManager={killed}" in stack.cluster.patched[-1][0]:
            found["metadata"]["managedFields"].remove(former)
        return found

    stack.cluster.patching = patched
    _, shown, _ = stack.run()
    assert "left its field manager on 2 objects" in shown and "by pulumi" not in shown

    with served(stack.cluster, stack.folder):
        repair.repair("staging", stack.folder, update_follows=update_follows)

    calls = [(path.partition("?")[0].rpartition("/")[2], path, body) for path, body in stack.cluster.patched]
    for name in paths.values():
        (_, first, whole), (_, second, identity) = (each for each in calls if each[0] == name)
        assert f"fieldManager={PULUMI}" in first and "annotations" in whole["metadata"]
        assert f"fieldManager={killed}&force=true" in second
        assert identity.keys() == {"apiVersion", "kind", "metadata"}
        assert identity["metadata"].keys() <= {"name", "namespace"}
    assert stack.found() == []


@pytest.mark.parametrize(("time", "by", "since"), [(EDITED, PULUMI, EDITED), (APPLIED, "", "")])
def test_drift_is_by_pulumis_own_manager_only_if_that_has_written_since_the_update(stack, time, by, since):
    """`kubectl scale` takes a field from its owner, and need not become one."""
    killed_update(stack)
    stack.the("/apis/apps/v1/deployments", "kustomize-controller")["metadata"]["managedFields"][0]["time"] = time

    assert [(each["field"], each["by"], each["since"]) for each in stack.found()] == [("spec.replicas", by, since)]


@pytest.mark.parametrize("found", ["nothing", "left", "edited"])
def test_an_update_was_interrupted_if_there_is_what_no_state_has(stack, found):
    if found == "left":
        left = copy.deepcopy(stack.cluster.objects[f"{NETWORKING}/networkpolicies"][0])
        left["metadata"]["name"] = "unrecorded"
        stack.cluster.objects[f"{NETWORKING}/networkpolicies"].append(left)
    if found == "edited":
        stack.edit_flag()

    with served(stack.cluster, stack.folder):
        earlier = repair.repair("staging", stack.folder, update_follows=True)

    assert earlier == repair.Earlier(CLUSTER_UID, found == "left")


def test_a_first_update_was_interrupted_if_the_state_has_nothing_but_the_cluster(stack):
    stack.resources = [each for each in stack.resources if each["type"] == CLUSTER_TYPE]
    assert repair.repair("staging", stack.folder) == repair.Earlier(CLUSTER_UID, interrupted=True)

    stack.resources = []
    assert repair.repair("staging", stack.folder) == repair.Earlier("", interrupted=False)


@pytest.mark.parametrize("error", [UNKNOWN_TO_PULUMI(stack="staging"), said("FT-OPS-013")], ids=["unknown", "other"])
def test_repair_does_nothing_for_a_stack_that_pulumi_does_not_know_yet_and_fails_otherwise(stack, monkeypatch, error):
    def fails(*_: object, **__: object) -> str:
        raise OperationError(error)

    monkeypatch.setattr(recorded_state, "run_pulumi", fails)
    is_unknown = error.code == UNKNOWN_TO_PULUMI.code

    repaired = stack.run(command="repair")
    assert (repaired.code, repaired.out) == (0 if is_unknown else 2, "")
    assert ("has not been applied yet" in repaired.error) is is_unknown
    # For a report, nothing to compare with is an error.
    assert stack.run().code == 2


@pytest.mark.parametrize(("status", "said"), [(0, "as approved\n"), (1, "error: another\n"), (2, "error: unknown\n")])
def test_a_repair_before_an_update_that_was_not_approved_changes_nothing(stack, monkeypatch, status, said):
    def check(name: str, approved: str, project: Path) -> subprocess.CompletedProcess[str]:
        assert (name, approved, project) == ("staging", "sha256:0", stack.folder)
        return subprocess.CompletedProcess([], status, "" if status else said, said if status else "")

    monkeypatch.setenv(VARIABLE, "sha256:0")
    monkeypatch.setattr(repair, "compare_with_approved", check)
    stack.edit_flag()

    code, _, error = stack.run(command="repair")

    assert (code, error.startswith(said)) == (2 if status else 0, True)
    assert bool(stack.cluster.patched) is (status == 0)


def test_an_object_that_cannot_be_changed_is_named_and_the_rest_is_repaired(stack):
    stack.edit_flag()
    stack.switch_to_audit()
    stack.cluster.forbidden = (f"{BINDINGS}/flux-tenancy-host-access",)

    code, _, error = stack.run(command="repair")

    assert code == 2
    assert "FT-OPS-052" in error and "spec.validationActions" in error
    assert [name for name, _ in applies(stack)] == ["kustomize-controller"]


def is_only_shown(stack, remedy: str) -> None:
    """Check that a report names another remedy than a repair, which does nothing."""
    code, out, error = stack.run("--exit-code")
    assert (code, error) == (1, "")
    assert "drift repair" not in out and remedy in out
    code, _, error = stack.run(command="repair")
    assert (code, stack.cluster.patched, stack.ran) == (0, [], []), error


def kyvernos(stack, replicas: int, filters: str) -> None:
    """Add what the chart of Kyverno has, which is not in the state."""
    stack.platform_namespace("kyverno")
    containers = [{"name": "kyverno", "args": ["--enablePolicyException=false"]}]
    spec = {"replicas": replicas, "template": {"spec": {"containers": containers}}}
    stack.cluster.objects[OF_KYVERNO] = [
        {"metadata": {"name": "kyverno-admission-controller", "namespace": "kyverno"}, "spec": spec}
    ]
    stack.cluster.objects[CONFIG_MAPS] = [
        {"metadata": {"name": "kyverno", "namespace": "kyverno"}, "data": {"resourceFilters": filters}}
    ]


def test_kyverno_that_does_not_run_or_leaves_out_tenants_is_shown_and_not_repaired(stack):
    kyvernos(stack, 1, "[Event,*,*] [Pod,kyverno,*]")
    assert stack.found() == []

    kyvernos(stack, 0, "[Event,*,*] [Pod,app*,*]")
    stack.resources.pop()
    found = [(each["what"], each["kind"], each["field"], each["cluster"]) for each in stack.found()]
    assert found == [
        ("changed", "ConfigMap", "data.resourceFilters", "[Pod,app*,*]"),
        ("changed", "Deployment", "spec.replicas", 0),
    ]
    is_only_shown(stack, "helm get manifest")


@pytest.mark.parametrize("is_going", [False, True])
def test_a_deployment_of_kyverno_that_somebody_has_deleted_is_shown(stack, is_going):
    kyvernos(stack, 1, "[Pod,kyverno,*]")
    release = chart()
    names = ["kyverno/kyverno-admission-controller", "elsewhere/manager"]
    release["outputs"]["resourceNames"] |= {"Deployment.apps/apps/v1": names, "Service/v1": ["kyverno/kyverno-svc"]}
    stack.resources.append(release)
    assert stack.found() == []

    if is_going:
        stack.cluster.objects[OF_KYVERNO][0]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    else:
        stack.cluster.objects[OF_KYVERNO].clear()
    found = [(each["what"], each["kind"], each["namespace"], each["name"]) for each in stack.found()]
    assert found == [("missing", "Deployment", "kyverno", "kyverno-admission-controller")]
    is_only_shown(stack, "kubectl create -f -")


def owned(name: str, uid: str, kind: str = "", owner: str = "", **spec: Any) -> dict[str, Any]:
    """An object of the platform's namespace with a controller."""
    metadata: dict[str, Any] = {"name": name, "namespace": "flux-system", "uid": uid}
    if owner:
        metadata["ownerReferences"] = [{"kind": kind, "name": "any", "uid": owner, "controller": True}]
    return {"metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("kind", "owner", "is_shown"),
    [
        ("ReplicaSet", "set", False),
        ("ReplicaSet", "nobody", True),
        ("ReplicaSet", "foreign", True),
        ("Deployment", "controller", True),
        ("ConfigMap", "map", True),
    ],
)
def test_a_pod_is_explained_only_by_a_controller_that_is_explained_itself(stack, kind, owner, is_shown):
    """Anybody who creates a pod writes its owner."""
    stack.platform_namespace("flux-system")
    stack.the("/apis/apps/v1/deployments", "kustomize-controller")["metadata"]["uid"] = "controller"
    stack.cluster.objects["/apis/apps/v1/namespaces/flux-system/replicasets"] = [
        owned("own", "set", "Deployment", "controller"),
        owned("planted", "foreign"),
    ]
    stack.cluster.objects["/api/v1/namespaces/flux-system/configmaps"] = [owned("map", "map")]
    stack.cluster.objects["/api/v1/namespaces/flux-system/pods"] = [owned("pod", "pod", kind, owner)]

    found = [(each["what"], each["kind"], each["name"]) for each in stack.found()]

    pod = [("foreign", "Pod", "pod")] if is_shown else []
    assert found == [*pod, ("foreign", "ReplicaSet", "planted")]


def generated(cluster: Stack, manifests: Iterable[dict[str, Any]], paths: Mapping[str, str]) -> None:
    """Add objects of the stack that tell Kyverno or Capsule what to make."""
    for manifest in manifests:
        cluster.resources.append(resource(resource_type(manifest), each := stored(manifest, {})))
        cluster.cluster.objects.setdefault(paths[manifest["kind"]], []).append(each)


def place(cluster: Stack, name: str, tenant: str, **labels: str) -> None:
    metadata = {"name": name, "labels": {TENANT_LABEL: tenant, **labels}}
    cluster.cluster.objects["/api/v1/namespaces"].append({"metadata": metadata})


def account(name: str, namespace: str) -> dict[str, str]:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def bound(cluster: Stack, namespace: str, role: str, *subjects: dict[str, str], name: str = "bound") -> None:
    """Add a role binding with the labels of what Kyverno and Capsule make."""
    labels = {
        "generate.kyverno.io/policy-name": "flux-tenancy-onboarding",
        "projectcapsule.dev/managed-by": "controller",
    }
    binding = role_binding(name, namespace, labels=labels)
    binding |= {"roleRef": {"kind": "ClusterRole", "name": role}, "subjects": list(subjects)}
    cluster.cluster.objects[f"{RBAC}/rolebindings"].append(binding)


def shown(cluster: Stack) -> list[tuple[str, str, str]]:
    return [(each["what"], each["namespace"], each["name"]) for each in cluster.found()]


KUSTOMIZE, HELM = (account(f"{name}-controller-impersonator", "flux-system") for name in ("kustomize", "helm"))
FORGED = ("foreign", "green", "flux-impersonation")


@pytest.fixture
def onboarding_stack(stack: Stack) -> Stack:
    """A stack whose policy provisions labelled namespaces, with one."""
    stack.platform_namespace("flux-system")
    policies = onboarding(TenancyConfig(), flux_config())
    paths = {each["kind"]: f"/apis/policies.kyverno.io/v1/{each['kind'].lower()[:-1]}ies" for each in policies}
    generated(stack, policies, paths)
    place(stack, "green", "green-team")
    return stack


def test_what_kyverno_generates_in_a_labelled_namespace_is_explained(onboarding_stack):
    bound(onboarding_stack, "green", SHARED_IMPERSONATION, KUSTOMIZE, HELM, name="flux-impersonation")

    assert shown(onboarding_stack) == []


@pytest.mark.parametrize(
    ("role", "subjects"),
    [
        ("cluster-admin", (KUSTOMIZE, HELM)),
        (SHARED_IMPERSONATION, (KUSTOMIZE, HELM, account("default", "apps"))),
        (SHARED_IMPERSONATION, (account("source-controller", "flux-system"),)),
    ],
    ids=["another role", "one more subject", "another subject"],
)
def test_what_only_looks_like_generated_by_kyverno_is_shown(onboarding_stack, role, subjects):
    bound(onboarding_stack, "green", role, *subjects, name="flux-impersonation")

    assert shown(onboarding_stack) == [FORGED]


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("green", {}),
        ("green", {TENANT_LABEL: "dev-team"}),
        ("green", {TENANT_LABEL: "flux-team"}),
        ("green", {TENANT_LABEL: "green-team", "app.kubernetes.io/managed-by": "flux-tenancy"}),
        ("kube-system", {TENANT_LABEL: "green-team"}),
    ],
    ids=["no label", "a tenant of the stack", "a reserved tenant", "marked as the stack's", "of the cluster"],
)
def test_kyverno_explains_nothing_in_namespaces_that_it_does_not_provision(onboarding_stack, name, labels):
    namespaces = onboarding_stack.cluster.objects["/api/v1/namespaces"]
    namespaces[:] = [each for each in namespaces if each["metadata"]["name"] != name]
    namespaces.append({"metadata": {"name": name, "labels": labels, "uid": CLUSTER_UID}})
    bound(onboarding_stack, name, SHARED_IMPERSONATION, KUSTOMIZE, HELM, name="flux-impersonation")

    assert shown(onboarding_stack) == [("foreign", name, "flux-impersonation")]


def test_kyverno_explains_nothing_that_the_stacks_own_policy_does_not_generate(stack):
    stack.platform_namespace("flux-system")
    place(stack, "green", "green-team")
    bound(stack, "green", SHARED_IMPERSONATION, KUSTOMIZE, HELM, name="flux-impersonation")

    assert shown(stack) == [FORGED]


OWNER = account("dev-team", "apps")
ADMINISTRATOR, OTHERS = ({"kind": "Group", "name": name} for name in ("platform", "others"))


@pytest.fixture
def capsule_stack(stack: Stack) -> Stack:
    """A stack with two tenants of Capsule: their homes, a further namespace, and one that a tenant has made.

    Another release has the same values as Capsule's, with others in them.
    """
    paths = {
        kind: f"/apis/capsule.clastix.io/v1beta2/{kind.lower()}s"
        for kind in ("Tenant", "TenantOwner", "GlobalTenantResource")
    }
    for tenant, namespaces in (("dev-team", ("apps", "apps-data")), ("ops-team", ("tools",))):
        config = tenant_config(namespaces=[{"name": each} for each in namespaces])
        found = tenant_objects(tenant, config, TenancyConfig.model_validate({"mode": "capsule"}))
        owners = [each for each in found.access if each["kind"] == "TenantOwner"]
        # The sample's state has `apps`.
        added = [each for each in found.namespaces if each["metadata"]["name"] != "apps"]
        generated(stack, [*found.capsule, *owners, *added], {**paths, "Namespace": "/api/v1/namespaces"})
    for namespace, administrator in (("capsule-system", ADMINISTRATOR), ("kyverno", OTHERS)):
        values = {"manager": {"options": {"administrators": [administrator]}}}
        stack.resources.append(chart() | {"inputs": {"namespace": namespace, "values": values}})
    place(stack, "dev-team-web", "dev-team", **{"app.kubernetes.io/managed-by": "capsule"})
    return stack


MADE_BY_CAPSULE = [
    ("dev-team-web", "flux-tenancy-tenant", OWNER),
    ("dev-team-web", "capsule-namespace-deleter", OWNER),
    ("dev-team-web", "flux-tenancy-own-namespace", OWNER),
    ("apps-data", "flux-tenancy-own-namespace", OWNER),
    ("apps-data", "capsule-namespace-deleter", ADMINISTRATOR),
]


def test_what_capsule_binds_in_the_namespaces_of_its_tenant_is_explained(capsule_stack):
    for number, (namespace, role, subject) in enumerate(MADE_BY_CAPSULE):
        bound(capsule_stack, namespace, role, subject, name=f"capsule-{number}")

    assert shown(capsule_stack) == []


@pytest.mark.parametrize(
    ("namespace", "role", "subject"),
    [
        ("dev-team-web", "cluster-admin", OWNER),
        ("dev-team-web", "flux-tenancy-tenant", account("default", "apps")),
        ("apps-data", "flux-tenancy-tenant", OWNER),
        ("apps-data", "capsule-namespace-deleter", OTHERS),
        ("dev-team-web", "flux-tenancy-own-namespace", account("ops-team", "tools")),
        ("apps", "flux-tenancy-own-namespace", OWNER),
        ("default", "flux-tenancy-tenant", OWNER),
    ],
    ids=[
        "another role",
        "another account",
        "a rule for other namespaces",
        "another release's administrator",
        "another tenant's owner",
        "in the home",
        "elsewhere",
    ],
)
def test_what_only_looks_like_made_by_capsule_is_shown(capsule_stack, namespace, role, subject):
    bound(capsule_stack, namespace, role, subject)

    assert shown(capsule_stack) == [("foreign", namespace, "bound")]
