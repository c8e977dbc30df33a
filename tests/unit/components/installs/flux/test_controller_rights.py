"""Impersonate-only controllers: which rights of the release they keep, and which rights replace the others."""

from __future__ import annotations

import pytest
from sample_release import arguments, names, one, release
from sample_stack import FLUX, flux_config, load, problems

from flux_tenancy.components.installs.flux.controller_rights import (
    impersonation_objects,
    is_powerful,
    shared_impersonation,
)
from flux_tenancy.components.installs.flux.profile import configured, in_phases
from flux_tenancy.components.tenant.identity import impersonations
from flux_tenancy.components.vocabulary.names import Controller, ObjectMeta

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
EVERY = [controller.value for controller in Controller]
SERVING = ("source-controller", "notification-controller", "image-reflector-controller", "image-automation-controller")
# What a Receiver may name: the values of `kind` in the API of notification-controller 1.9.
NAMED_BY_RECEIVERS = {
    "buckets",
    "gitrepositories",
    "kustomizations",
    "helmreleases",
    "helmcharts",
    "helmrepositories",
    "imagerepositories",
    "imagepolicies",
    "imageupdateautomations",
    "ocirepositories",
    "artifactgenerators",
    "externalartifacts",
}
URL = "https://git.example.com/dev-team/apps"
FURTHER = {
    "announced": {"kind": "GitRepository", "url": URL, "webhook": {}},
    "silent": {"kind": "GitRepository", "url": URL},
}
WRITING = {"create", "update", "patch", "delete", "deletecollection", "*"}


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


def test_every_controller_runs_as_a_dedicated_account():
    manifests = installed(components=EVERY)
    found = accounts(manifests)

    assert set(found.values()) <= set(names(manifests, "ServiceAccount"))
    assert found.pop("kustomize-controller") == "kustomize-controller-impersonator"
    assert found.pop("helm-controller") == "helm-controller-impersonator"
    assert found == {name: f"{name}-restricted" for name in found}


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


def test_the_releases_broad_role_is_bound_to_no_controller():
    manifests = installed(components=EVERY)
    bound = {subject["name"] for subject in one(manifests, "ClusterRoleBinding", "controllers")["subjects"]}

    assert bound == {"of-another-kind"}


def test_a_binding_of_controllers_only_is_removed():
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "crd-controller"}

    kept = configured([*release(), {**EVERYTHING, "roleRef": role}], flux_config())

    assert "cluster-reconciler" not in names(kept, "ClusterRoleBinding")


@pytest.mark.parametrize(
    ("controller", "written"),
    [
        ("source-controller", {"buckets", "gitrepositories", "helmcharts", "helmrepositories", "ocirepositories"}),
        ("notification-controller", {"alerts", "providers", "receivers"}),
        ("image-reflector-controller", {"imagepolicies", "imagerepositories"}),
        ("image-automation-controller", {"imageupdateautomations"}),
        ("source-watcher", {"artifactgenerators", "externalartifacts"}),
        ("kustomize-controller", {"kustomizations"}),
        ("helm-controller", {"helmreleases", "helmcharts"}),
    ],
)
def test_in_the_whole_cluster_a_controller_writes_only_its_own_kinds_and_events(controller, written):
    found = rules(installed(components=EVERY), "ClusterRole", f"flux-tenancy-{controller}")

    assert {resource.split("/")[0] for verb, resource, _ in found if verb in WRITING} == {*written, "events"}
    assert {resource for verb, resource, _ in found if verb in ("create", "delete")} <= {
        "events",
        "helmcharts",
        "externalartifacts",
        "externalartifacts/status",
    }


def test_notification_controller_reads_what_alerts_and_receivers_may_name():
    found = rules(installed(), "ClusterRole", "flux-tenancy-notification-controller")

    assert {(verb, kind, ()) for verb in ("get", "list", "watch") for kind in NAMED_BY_RECEIVERS} <= set(found)


@pytest.mark.parametrize("controller", EVERY)
def test_no_cluster_wide_rule_allows_secrets_or_another_identity(controller):
    manifests = installed(components=EVERY, sync=SYNC, workloadIdentity=True)
    found = rules(manifests, "ClusterRole", f"flux-tenancy-{controller}")

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


@pytest.mark.parametrize(
    ("flux", "admitted"),
    [
        ({}, ["flux-tenancy-receivers"]),
        ({"components": EVERY[:3]}, []),
        ({"controllerRights": "release"}, []),
        ({"profile": "single-tenant"}, []),
    ],
)
def test_what_notification_controller_may_patch_is_limited_to_annotations(flux, admitted):
    manifests = installed(**flux)

    assert names(manifests, "ValidatingAdmissionPolicy") == admitted
    assert names(manifests, "ValidatingAdmissionPolicyBinding") == admitted
    if admitted:
        spec = one(manifests, "ValidatingAdmissionPolicy", "flux-tenancy-receivers")["spec"]
        matched = {kind for rule in spec["matchConstraints"]["resourceRules"] for kind in rule["resources"]}
        assert matched == NAMED_BY_RECEIVERS


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


def test_the_new_rights_come_before_the_controllers():
    config = flux_config()
    access = in_phases(configured([*release(), EVERYTHING], config), config).access

    assert {"flux-tenancy-secrets", "flux-tenancy-receivers"} <= set(names(access, "ClusterRole"))
    assert "flux-tenancy-source-controller" in names(access, "ClusterRoleBinding")
    assert "source-controller-restricted" in names(access, "RoleBinding")


@pytest.mark.parametrize(
    ("flux", "bound"),
    [
        ({}, set()),
        ({"impersonate": [{"namespace": "infra", "serviceAccounts": ["applier"]}]}, set()),
        ({"impersonate": [{"namespace": SYSTEM, "serviceAccounts": ["applier"]}]}, {"flux-secrets"}),
        ({"sync": SYNC}, {"flux-secrets"}),
        ({"sync": {"source": SYNC["source"] | {"webhook": {}}}}, {"flux-secrets", "flux-webhooks"}),
    ],
)
def test_in_flux_system_a_controller_gets_only_what_an_object_of_the_stack_needs(flux, bound):
    manifests = installed(components=EVERY, workloadIdentity=True, **flux)

    found = {name for name in names(manifests, "RoleBinding") if name.startswith("flux-")}
    assert found - {"flux-impersonation"} == bound
    if "flux-webhooks" in bound:
        assert rules(manifests, "Role", "flux-webhooks") == [("patch", "gitrepositories", (SYSTEM,))]
        [subject] = one(manifests, "RoleBinding", "flux-webhooks")["subjects"]
        assert subject["name"] == "notification-controller-restricted"


@pytest.mark.parametrize("controller", [each for each in SERVING if not each.startswith("image")])
def test_the_gate_for_uncached_secrets_is_on_where_a_controller_knows_it(controller):
    given = arguments(installed())[controller] or ()

    assert any("DisableConfigWatchers=true" in each for each in given) is (controller == "notification-controller")


def test_in_a_tenants_namespace_only_its_account_and_the_default_account_can_be_impersonated():
    place = ObjectMeta("dev-team", "apps", {"toolkit.fluxcd.io/tenant": "dev-team"})

    role, binding, *_ = impersonation_objects(place, ["dev-team"], flux_config())

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


def test_in_a_tenants_namespace_the_other_controllers_get_secrets_and_patch_what_its_receivers_may_name():
    place = ObjectMeta("dev-team", "apps", {"toolkit.fluxcd.io/tenant": "dev-team"})
    manifests = installed(components=EVERY)

    config = flux_config(components=EVERY)
    _, _, secrets, receivers = impersonation_objects(place, ["dev-team"], config, receivers=True)

    assert [each["metadata"]["name"] for each in (secrets, receivers)] == ["flux-secrets", "flux-receivers"]
    assert [subject["name"] for subject in secrets["subjects"]] == [f"{name}-restricted" for name in SERVING]
    assert [subject["name"] for subject in receivers["subjects"]] == ["notification-controller-restricted"]
    assert rules(manifests, "ClusterRole", secrets["roleRef"]["name"]) == [("get", "secrets", ())]
    assert set(rules(manifests, "ClusterRole", receivers["roleRef"]["name"])) == {
        ("patch", kind, ()) for kind in NAMED_BY_RECEIVERS
    }


def test_tokens_for_a_cloud_are_created_only_with_workload_identity_and_not_in_flux_system():
    """Where `kustomize-controller` may be cluster-admin."""
    # Later releases create them only for accounts that are named.
    identity = {"version": "2.9.6", "workloadIdentity": True}
    config, manifests = flux_config(**identity), installed(**identity)
    place = ObjectMeta("dev-team", "apps", {})

    assert rules(manifests, "ClusterRole", "flux-tenancy-tokens") == [("create", "serviceaccounts/token", ())]
    assert rules(manifests, "ClusterRole", "flux-tenancy-secrets") == [("get", "secrets", ())]
    assert "flux-tokens" in names(impersonation_objects(place, ["dev-team"], config), "RoleBinding")
    assert "flux-tokens" not in names(manifests, "RoleBinding")
    assert "flux-tokens" not in names(impersonation_objects(place, ["dev-team"], flux_config()), "RoleBinding")


def test_without_notification_controller_nobody_may_patch_what_receivers_name():
    without = ["source-controller", "kustomize-controller"]
    manifests = installed(components=without)

    assert "flux-tenancy-receivers" not in names(manifests, "ClusterRole")
    bindings = impersonation_objects(
        ObjectMeta("dev-team", "apps", {}), ["dev-team"], flux_config(components=without), receivers=True
    )
    assert "flux-receivers" not in names(bindings, "RoleBinding")
    readers = [each["name"] for each in one(bindings, "RoleBinding", "flux-secrets")["subjects"]]
    assert readers == ["source-controller-restricted"]


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
        flux=FLUX | {"impersonate": named},
        tenants={"dev-team": tenant},
    )

    found = {
        namespace: role["rules"][0]["resourceNames"]
        for namespace, (role, *_) in impersonations(config.flux, config.tenants, config.tenancy).items()
    }

    assert found == {
        "apps": ["dev-team", "preview", "default"],
        "jobs": ["dev-team", "default"],
        "infra": ["infra", "default"],
    }


@pytest.mark.parametrize(
    ("tenancy", "tenant", "bound"),
    [
        ({}, {}, {}),
        ({"kinds": ["Alert"]}, {"policies": {"kinds": ["Bucket"]}}, {}),
        ({"kinds": ["Receiver"]}, {}, {"apps": "flux-receivers", "jobs": "flux-receivers"}),
        ({}, {"policies": {"kinds": ["Receiver"]}}, {"apps": "flux-receivers", "jobs": "flux-receivers"}),
        ({}, {"source": {"url": URL, "webhook": {}}, "sources": FURTHER}, {"apps": "flux-webhooks"}),
        ({}, {"source": {"url": URL, "webhook": {}}, "state": "leaving"}, {}),
    ],
)
def test_objects_are_annotated_only_where_a_receiver_may_be(tmp_path, tenancy, tenant, bound):
    team = {"namespaces": [{"name": "apps"}, {"name": "jobs"}], **tenant}
    named = [{"namespace": "infra", "serviceAccounts": ["infra"]}]
    config = load(tmp_path, flux=FLUX | {"impersonate": named}, tenants={"dev-team": team}, tenancy=tenancy)

    objects = impersonations(config.flux, config.active_tenants, config.tenancy)

    annotating = {
        namespace: each["metadata"]["name"]
        for namespace, manifests in objects.items()
        for each in manifests
        if each["kind"] == "RoleBinding" and each["metadata"]["name"] in ("flux-receivers", "flux-webhooks")
    }
    assert annotating == bound
    if "flux-webhooks" in bound.values():
        found = rules(objects["apps"], "Role", "flux-webhooks")
        assert found == [("patch", "gitrepositories", ("dev-team", "announced"))]


@pytest.mark.parametrize("namespace", ["kube-system", "kube-public", "kube-node-lease", "kyverno", "capsule-system"])
def test_no_account_can_be_impersonated_where_the_secrets_are_those_of_the_cluster(tmp_path, namespace):
    named = [{"namespace": namespace, "serviceAccounts": ["applier"]}]

    [problem] = problems(tmp_path, flux=FLUX | {"impersonate": named})

    assert f"flux.impersonate[0].namespace: '{namespace}' belongs to the cluster's own components" in problem


@pytest.mark.parametrize("namespace", [SYSTEM, "flux-infra", "monitoring", "kubeflow"])
def test_accounts_of_the_platform_can_be_impersonated_elsewhere(namespace):
    named = [{"namespace": namespace, "serviceAccounts": ["applier"]}]

    assert [each.namespace for each in flux_config(impersonate=named).impersonate] == [namespace]


def test_the_platforms_decryption_keeps_its_token_with_the_rights_of_flux_2_10():
    identity = {"decryption": {"workloadIdentity": {"provider": "gcp"}}}
    section = {"version": "2.10.1", "controllerRights": "release", "sync": SYNC | identity}
    manifests = configured(release(), flux_config(workloadIdentity=True, **section))

    assert rules(manifests, "Role", "flux-tokens") == [("create", "serviceaccounts/token", ("flux-system-decryption",))]
    assert "flux-tokens" not in names(configured(release(), flux_config(**section)), "Role")
