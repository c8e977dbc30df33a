"""Impersonate-only controllers: which rights of the release they keep, and which rights replace the others."""

from __future__ import annotations

import pytest
from sample_release import names, one, release
from sample_stack import DIGEST, FLUX, flux_config, load, problems

from components.cluster.object_meta import ObjectMeta
from components.flux.controller_rights import impersonation_objects, is_powerful, shared_impersonation
from components.flux.phases import in_phases
from components.flux.profile import configured
from components.tenant.impersonation import impersonations

EVERYTHING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "cluster-reconciler"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
    "subjects": [
        {"kind": "ServiceAccount", "name": name, "namespace": "flux-system"}
        for name in ("kustomize-controller", "helm-controller")
    ],
}
SYNC = {"source": {"url": "https://git.example.com/platform/fleet"}}
SYSTEM = "flux-system"


def installed(**flux):
    return configured([*release(), EVERYTHING], flux_config(**flux))


def accounts(manifests):
    return {
        each["metadata"]["name"]: each["spec"]["template"]["spec"].get("serviceAccountName")
        for each in manifests
        if each["kind"] == "Deployment"
    }


def powerful(**flux):
    return [subject["name"] for each in installed(**flux) if is_powerful(each) for subject in each["subjects"]]


def rules(manifests, kind, name):
    return [
        (verb, resource, tuple(rule.get("resourceNames", ())))
        for rule in one(manifests, kind, name)["rules"]
        for resource in rule.get("resources", ())
        for verb in rule["verbs"]
    ]


def test_the_reconcilers_run_as_dedicated_accounts_and_other_controllers_as_before():
    found = accounts(installed())

    assert found.pop("kustomize-controller") == "kustomize-controller-impersonator"
    assert found.pop("helm-controller") == "helm-controller-impersonator"
    assert set(found.values()) == {None}


def test_no_account_is_cluster_admin_if_nothing_is_applied_as_one():
    assert powerful() == []
    assert "cluster-reconciler" not in names(installed(), "ClusterRoleBinding")


def test_the_account_that_applies_the_platforms_repository_stays_cluster_admin():
    assert powerful(sync=SYNC) == ["kustomize-controller"]


def test_accounts_listed_in_impersonate_stay_cluster_admin():
    named = [{"namespace": SYSTEM, "serviceAccounts": ["helm-controller", "apps"]}]

    assert powerful(impersonate=named) == ["helm-controller"]
    found = rules(installed(impersonate=named), "Role", "flux-impersonation")
    assert ("impersonate", "serviceaccounts", ("helm-controller", "apps", "default")) in found


def test_the_releases_broad_role_is_bound_only_to_the_other_controllers():
    bound = {subject["name"] for subject in one(installed(), "ClusterRoleBinding", "controllers")["subjects"]}

    assert bound == {"source-controller", "image-reflector-controller", "of-another-kind"}


@pytest.mark.parametrize("controller", ["kustomize-controller", "helm-controller"])
def test_no_cluster_wide_rule_allows_secrets_or_another_identity(controller):
    found = rules(installed(sync=SYNC, workloadIdentity=True), "ClusterRole", f"flux-tenancy-{controller}")

    assert not {resource for _, resource, _ in found} & {"secrets", "configmaps", "serviceaccounts/token", "*"}
    assert not {verb for verb, _, _ in found} & {"impersonate", "bind", "escalate", "*"}


def test_in_flux_system_only_the_accounts_of_the_platforms_sync_can_be_impersonated():
    leases = {
        ("create", "leases", ()),
        *((verb, "leases", ("kustomize-controller-leader-election",)) for verb in ("get", "patch", "update")),
    }
    name = "kustomize-controller-impersonator"

    assert set(rules(installed(), "Role", name)) == leases
    assert set(rules(installed(sync=SYNC), "Role", name)) == leases | {
        ("impersonate", "serviceaccounts", ("kustomize-controller", "default")),
        ("get", "secrets", ()),
        ("get", "configmaps", ()),
    }
    helm = rules(installed(sync=SYNC), "Role", "helm-controller-impersonator")
    assert {resource for _, resource, _ in helm} == {"leases"}


def test_the_allow_list_of_vaults_can_be_read_and_tokens_created_for_them():
    vaults = [{"address": "https://vault.example.com", "loginPath": "auth/kubernetes/login"}]
    found = rules(
        installed(sync=SYNC, vaults=vaults, workloadIdentity=True), "Role", "kustomize-controller-impersonator"
    )

    assert ("get", "configmaps", ("sops-vault",)) in found
    assert ("create", "serviceaccounts/token", ("flux-system-decryption",)) in found


@pytest.mark.parametrize("flux", [{"controllerRights": "release"}, {"profile": "single-tenant"}])
def test_the_release_keeps_its_rights_if_configured(flux):
    def access(manifests):
        return [each for each in manifests if each["kind"] in ("ClusterRoleBinding", "RoleBinding", "ServiceAccount")]

    assert access(installed(**flux)) == access([*release(), EVERYTHING])
    assert set(accounts(installed(**flux)).values()) == {None}
    assert powerful(**flux) == ["kustomize-controller", "helm-controller"]


def test_a_controller_that_is_not_installed_gets_no_rights():
    manifests = installed(components=["source-controller", "kustomize-controller"])

    assert "helm-controller-impersonator" not in names(manifests, "ServiceAccount")
    assert "flux-tenancy-helm-controller" not in names(manifests, "ClusterRole")


@pytest.mark.parametrize(("rights", "phase"), [("impersonate", "powers"), ("release", "access")])
def test_rights_are_granted_before_the_controllers_change_and_removed_after(rights, phase):
    config = flux_config(sync=SYNC, controllerRights=rights)
    phases = in_phases(configured([*release(), EVERYTHING], config), config)

    assert "cluster-reconciler" in names(getattr(phases, phase), "ClusterRoleBinding")


def test_in_a_tenants_namespace_only_its_account_and_the_default_account_can_be_impersonated():
    place = ObjectMeta("dev-team", "apps", {"toolkit.fluxcd.io/tenant": "dev-team"})

    role, binding = impersonation_objects(place, ["dev-team"], flux_config())

    assert role["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["serviceaccounts"],
            "verbs": ["impersonate"],
            "resourceNames": ["dev-team", "default"],
        },
        {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["get"]},
    ]
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "flux-impersonation"}
    assert role["metadata"]["labels"] == place.labels


def test_in_a_namespace_onboarded_by_label_any_account_can_be_impersonated():
    assert rules([shared_impersonation(flux_config())], "ClusterRole", "flux-tenancy-impersonation") == [
        ("impersonate", "serviceaccounts", ()),
        ("get", "configmaps", ()),
        ("get", "secrets", ()),
    ]


def test_every_namespace_of_a_tenant_and_of_the_platform_has_its_own_role(tmp_path):
    named = [
        {"namespace": "infra", "serviceAccounts": ["infra"]},
        {"namespace": "apps", "serviceAccounts": ["preview"]},
        {"namespace": SYSTEM, "serviceAccounts": ["helm-controller"]},
    ]
    tenant = {"namespaces": [{"name": "apps"}, {"name": "jobs"}]}
    config = load(
        tmp_path,
        flux={"version": "2.9.5", "sha256": DIGEST, "impersonate": named},
        tenants={"dev-team": tenant},
    )

    found = {
        namespace: role["rules"][0]["resourceNames"]
        for namespace, (role, _) in impersonations(config.flux, config.tenants, config.tenancy).items()
    }

    assert found == {
        "apps": ["dev-team", "preview", "default"],
        "jobs": ["dev-team", "default"],
        "infra": ["infra", "default"],
    }


@pytest.mark.parametrize("namespace", ["kube-system", "kube-public", "kube-node-lease", "kyverno", "capsule-system"])
def test_no_account_can_be_impersonated_where_the_secrets_are_those_of_the_cluster(tmp_path, namespace):
    named = [{"namespace": namespace, "serviceAccounts": ["applier"]}]

    [problem] = problems(tmp_path, flux=FLUX | {"impersonate": named})

    assert f"flux.impersonate[0].namespace: '{namespace}' belongs to the cluster's own components" in problem


@pytest.mark.parametrize("namespace", [SYSTEM, "flux-infra", "monitoring", "kubeflow"])
def test_accounts_of_the_platform_can_be_impersonated_elsewhere(namespace):
    named = [{"namespace": namespace, "serviceAccounts": ["applier"]}]

    assert [each.namespace for each in flux_config(impersonate=named).impersonate] == [namespace]
