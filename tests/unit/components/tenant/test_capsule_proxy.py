"""Syncs that go through capsule-proxy: by tokens, by a Secret, and by the addon."""

from sample_plan import tenant_objects
from sample_stack import tenant_config

from flux_tenancy.components.tenant.config import TenancyConfig

ADDRESS = "https://capsule-proxy.capsule-system.svc:9001"


def objects(**proxy):
    tenancy = TenancyConfig.model_validate({"mode": "capsule", "capsule": {"proxy": proxy}})
    return tenant_objects("dev-team", tenant_config(syncs={"jobs": {}}), tenancy)


def of_kind(found, kind):
    return [each for each in found.access if each["kind"] == kind]


def test_flux_logs_in_with_tokens_and_nothing_secret_is_stored():
    found = objects(address=ADDRESS, audiences=["capsule-proxy", "other"])

    [config_map] = of_kind(found, "ConfigMap")
    assert config_map["metadata"] == {
        "name": "dev-team-capsule-proxy",
        "namespace": "apps",
        "labels": {"toolkit.fluxcd.io/tenant": "dev-team"},
    }
    assert config_map["data"] == {
        "provider": "generic",
        "address": ADDRESS,
        "serviceAccountName": "dev-team",
        "audiences": "capsule-proxy\nother",
    }
    assert len(found.syncs) == 2
    for sync in found.syncs:
        assert sync["spec"]["kubeConfig"] == {"configMapRef": {"name": "dev-team-capsule-proxy"}}
        assert sync["spec"]["serviceAccountName"] == "dev-team"


def test_the_account_may_impersonate_itself_and_nobody_else():
    found = objects(address=ADDRESS)

    [role] = of_kind(found, "ClusterRole")
    [rule] = role["rules"]
    assert (rule["verbs"], rule["resources"]) == (["impersonate"], ["users"])
    assert rule["resourceNames"] == ["system:serviceaccount:apps:dev-team"]
    [binding] = of_kind(found, "ClusterRoleBinding")
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "dev-team", "namespace": "apps"}]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]


def test_a_kubeconfig_that_others_keep_is_referred_to():
    found = objects(secret="gitops-reconciler-kubeconfig")

    assert found.syncs[0]["spec"]["kubeConfig"] == {
        "secretRef": {"name": "gitops-reconciler-kubeconfig", "key": "kubeconfig"}
    }
    assert of_kind(found, "ConfigMap") == []
    assert len(of_kind(found, "ClusterRole")) == 1


def test_the_addon_is_asked_by_an_annotation_and_gives_the_rights_itself():
    found = objects(addon=True)

    assert found.identity["metadata"]["annotations"] == {"capsule.addon.fluxcd/enabled": "true"}
    assert found.syncs[0]["spec"]["kubeConfig"]["secretRef"]["name"] == "dev-team-kubeconfig"
    assert of_kind(found, "ClusterRole") == []


def test_without_a_proxy_flux_impersonates_directly():
    found = tenant_objects("dev-team", tenant_config(), TenancyConfig.model_validate({"mode": "capsule"}))

    assert "kubeConfig" not in found.syncs[0]["spec"]
    assert "annotations" not in found.identity["metadata"]
