"""Impersonate-only controllers: which rights of the release they keep, and which rights replace the others."""

from __future__ import annotations

from typing import Any

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
from flux_tenancy.components.vocabulary.manifests import name_of
from flux_tenancy.components.vocabulary.names import Controller, ObjectMeta
from tests.support.goldens import assert_golden, differing

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


def listed(manifests):
    """What each role allows and who has it, one line each."""
    found: dict[str, list[str]] = {}
    for each in manifests:
        if each["kind"] in ("Role", "ClusterRole"):
            found.setdefault(f"{each['kind']} {name_of(each)}", []).extend(map(in_one_line, each["rules"]))
        elif each["kind"] in ("RoleBinding", "ClusterRoleBinding"):
            role = f"{each['roleRef']['kind']} {each['roleRef']['name']}"
            subjects = [f"{subject['namespace']}/{subject['name']}" for subject in each["subjects"]]
            found[f"{each['kind']} {name_of(each)}"] = [role, *subjects]
    return found


def in_one_line(rule):
    named = f" of {' '.join(rule['resourceNames'])}" if "resourceNames" in rule else ""
    what = [*rule.get("resources", ()), *rule.get("nonResourceURLs", ())]
    return f"{' '.join(rule['verbs'])}: {'/'.join(rule.get('apiGroups', ()))} {' '.join(what)}{named}"


VAULTS = [{"address": "https://vault.example.com", "loginPath": "auth/kubernetes/login"}]
IDENTITY = {"workloadIdentity": True}
# Later releases create tokens only for accounts that are named.
ANY_TOKEN = IDENTITY | {"version": "2.9.6"}
DECRYPTING = SYNC | {"decryption": {"workloadIdentity": {"provider": "gcp"}}}
PLACE = ObjectMeta("dev-team", "apps", {"toolkit.fluxcd.io/tenant": "dev-team"})


@pytest.mark.golden
def test_controllers_have_exactly_these_rights():
    usual = listed(installed(components=EVERY))
    every = flux_config(components=EVERY)
    of_stacks: dict[str, dict[str, Any]] = {
        "the platform's sync": {"sync": SYNC},
        "its webhook": {"sync": {"source": SYNC["source"] | {"webhook": {}}}},
        "vaults and workload identity": {"sync": SYNC, "vaults": VAULTS} | IDENTITY,
        "workload identity with Flux 2.9": ANY_TOKEN,
        "an account of another namespace": {"impersonate": [{"namespace": "infra", "serviceAccounts": ["applier"]}]},
        "accounts of Flux's namespace": {
            "impersonate": [{"namespace": SYSTEM, "serviceAccounts": ["helm-controller", "apps"]}]
        },
        "lanes": {"lanes": {"tenants": {}, "batch": {}}, "sync": SYNC},
    }
    of_namespaces = {
        "a tenant's namespace": impersonation_objects(PLACE, ["dev-team"], every, receivers=True),
        "a tenant's namespace with Flux 2.9": impersonation_objects(PLACE, ["dev-team"], flux_config(**ANY_TOKEN)),
        "a namespace onboarded by label": [shared_impersonation(flux_config())],
    }
    releases: dict[str, Any] = {"version": "2.10.1", "controllerRights": "release", "sync": DECRYPTING} | IDENTITY
    as_released = differing(listed(installed(**releases)), listed([*release(), EVERYTHING]))
    found: dict[str, Any] = {"every controller": usual, "the release's rights and a decrypting sync": as_released}
    found |= {name: differing(listed(installed(components=EVERY, **flux)), usual) for name, flux in of_stacks.items()}
    found |= {name: listed(each) for name, each in of_namespaces.items()}
    assert_golden("controller-rights.yaml", found)
    assert all(each["metadata"]["labels"] == PLACE.labels for each in of_namespaces["a tenant's namespace"])


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


@pytest.mark.parametrize("controller", [each for each in SERVING if not each.startswith("image")])
def test_the_gate_for_uncached_secrets_is_on_where_a_controller_knows_it(controller):
    given = arguments(installed())[controller] or ()

    assert any("DisableConfigWatchers=true" in each for each in given) is (controller == "notification-controller")


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
