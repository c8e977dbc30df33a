"""The objects for decryption: a Secret with the entries that kustomize-controller reads, and a service account."""

from base64 import b64decode

import pytest
from recorded_program import GENERATED, run
from sample_plan import platform_args, tenant_args
from sample_release import arguments, release
from sample_sops_keys import age_identity, openpgp_key, with_age
from sample_stack import flux_config, removal, tenant_config

from flux_tenancy.components.git.source import GitAccess
from flux_tenancy.components.installs.flux.component import PlatformSync
from flux_tenancy.components.installs.flux.config import PlatformSyncConfig
from flux_tenancy.components.installs.flux.profile import configured
from flux_tenancy.components.sync.decryption import Decryption, decryption_objects
from flux_tenancy.components.tenant.component import Tenant
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.vocabulary.names import ObjectMeta

PLACE = ObjectMeta(name="dev-team", namespace="apps", labels={"toolkit.fluxcd.io/tenant": "dev-team"})
ACCESS = GitAccess(known_hosts=(), github=None, webhook_url=None)
VAULT_ARGUMENT = "--sops-vault-configmap=sops-vault"
VAULTS = [{"address": "https://vault.example.com:8200", "loginPath": "auth/kubernetes/login"}]


def objects(decryption):
    return decryption_objects(PLACE, Decryption.model_validate(decryption))


def content(secret) -> dict[str, str]:
    return {key: b64decode(value).decode() for key, value in secret["data"].items()}


def test_age_identities_are_in_one_file():
    [secret] = objects(with_age("first", "second")).manifests

    private = [age_identity(which).private for which in ("first", "second")]
    assert content(secret) == {"identity.agekey": f"{private[0]}\n{private[1]}\n"}


def test_each_openpgp_key_has_its_own_file():
    keys = [openpgp_key("first"), openpgp_key("second")]

    [secret] = objects({"openpgp": {"privateKeys": "".join(key.private for key in keys)}}).manifests

    assert content(secret) == {f"{key.fingerprint}.asc": key.private for key in keys}


def test_the_secret_is_labeled_for_the_tenant_immutable_and_referenced_by_the_kustomization():
    found = objects(with_age("first"))

    [secret] = found.manifests
    assert secret["metadata"]["namespace"] == "apps"
    assert secret["metadata"]["labels"] == {"toolkit.fluxcd.io/tenant": "dev-team"}
    assert secret["immutable"] is True
    assert secret["metadata"]["generateName"] == "dev-team-sops-"
    assert found.spec == {"provider": "sops", "secretRef": {"name": "dev-team-sops"}}


def test_other_keys_change_only_the_content_of_the_secret():
    one, other = objects(with_age("first")), objects(with_age("second", "first"))

    assert one.manifests[0]["data"] != other.manifests[0]["data"]
    assert one.manifests[0]["metadata"] == other.manifests[0]["metadata"]
    assert one.spec == other.spec


def test_a_cloud_identity_is_a_service_account_without_rights_in_the_cluster():
    role = "arn:aws:iam::123456789012:role/sops"

    found = objects({"workloadIdentity": {"provider": "aws", "roleArn": role}})

    assert found.manifests == [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {
                "name": "dev-team-decryption",
                "namespace": "apps",
                "labels": {"toolkit.fluxcd.io/tenant": "dev-team"},
                "annotations": {"eks.amazonaws.com/role-arn": role},
            },
            "automountServiceAccountToken": False,
        }
    ]
    assert found.spec == {"provider": "sops", "serviceAccountName": "dev-team-decryption"}


def test_without_a_key_an_encrypted_secret_is_refused_and_not_applied_encrypted():
    found = decryption_objects(PLACE, None)

    assert (found.manifests, found.spec) == ([], {"provider": "sops"})


def test_a_tenants_keys_are_created_after_its_limits_and_before_its_sync():
    decryption = with_age("first") | {"workloadIdentity": {"provider": "gcp"}}
    config = tenant_config(sync={"decryption": decryption})

    resources = run(lambda: Tenant("dev-team", tenant_args(config, ACCESS, TenancyConfig(), removal())) and None)

    account = "ServiceAccount apps/dev-team-decryption"
    secret = "Secret dev-team-sops"
    sync = resources["Kustomization apps/dev-team"]
    for name in (secret, account):
        quotas = {f"ResourceQuota apps/dev-team-{quota}" for quota in ("flux-objects", "objects")}
        assert resources[name].after == {"Namespace apps", "LimitRange apps/dev-team-containers", *quotas}
        assert name in sync.after
    assert sync.properties["spec"]["decryption"] == {
        "provider": "sops",
        "secretRef": {"name": f"dev-team-sops-{GENERATED}"},
        "serviceAccountName": "dev-team-decryption",
    }
    assert not [each for each in resources if each.startswith("RoleBinding") and "decryption" in each]


def test_the_platforms_keys_are_in_its_own_namespace_and_created_before_its_sync():
    config = PlatformSyncConfig.model_validate(
        {"source": {"url": "https://git.example.com/fleet"}, "decryption": with_age("first")}
    )

    resources = run(lambda: PlatformSync("platform", platform_args(config, "./", ACCESS)) and None)

    sync = resources["Kustomization flux-system/flux-system"]
    assert "Secret flux-system-sops" in sync.after
    assert sync.properties["spec"]["decryption"]["secretRef"] == {"name": f"flux-system-sops-{GENERATED}"}


@pytest.mark.parametrize("profile", ["multi-tenant", "single-tenant"])
def test_vaults_are_an_allow_list_that_the_controller_is_configured_with(profile):
    manifests = configured(release(), flux_config(profile=profile, vaults=VAULTS))

    [allowed] = [manifest for manifest in manifests if manifest["kind"] == "ConfigMap"]
    assert allowed["metadata"] == {"name": "sops-vault", "namespace": "flux-system"}
    assert allowed["data"] == {
        "config.yaml": "instances:\n- address: https://vault.example.com:8200\n  loginPath: auth/kubernetes/login\n"
    }
    controllers = [name for name, given in arguments(manifests).items() if VAULT_ARGUMENT in (given or ())]
    assert controllers == ["kustomize-controller"]
