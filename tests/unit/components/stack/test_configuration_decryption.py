"""The decryption of a sync: what the stack may say, and what is refused."""

import pytest
from sample_sops_keys import age_identity, openpgp_key
from sample_stack import DEV_TEAM_BASE, FLUX, Secret, load, problems

from flux_tenancy.components.sync.decryption import KEY_SERVICES, Decryption, WorkloadIdentity
from tests.support import post_quantum_key
from tests.support.messages import said

WHERE = "Pulumi.staging.yaml: tenants.dev-team.sync.decryption"
ROLE = "arn:aws:iam::123456789012:role/sops"
UUID = "0b1c2d3e-0000-4000-8000-00000000abcd"
OTHER_BASE = DEV_TEAM_BASE.replace("apps", "tools")
IDENTITY = {"flux": FLUX | {"workloadIdentity": True}}


def stack(decryption, **sections):
    """A stack in which this decrypts for the tenant dev-team."""
    return {"tenants": {"dev-team": {"sync": {"decryption": decryption}}}} | sections


def age(*which, **keys):
    return {"age": {"identities": Secret("\n".join(age_identity(each).private for each in which)), **keys}}


def openpgp(*texts, **keys):
    return {"openpgp": {"privateKeys": Secret("".join(texts)), **keys}}


def refused(tmp_path, decryption, **sections):
    [problem] = problems(tmp_path, **stack(decryption, **sections))
    return problem


def test_keys_of_all_kinds_can_be_combined(tmp_path):
    first, key = age_identity("first"), openpgp_key("first")
    decryption = {
        "age": {
            "identities": Secret(f"{first.private}\n{post_quantum_key.IDENTITY}"),
            "recipients": [first.recipient, post_quantum_key.RECIPIENT],
        },
        **openpgp(key.private, fingerprints=[key.fingerprint.lower()]),
        "workloadIdentity": {"provider": "aws", "roleArn": ROLE, "keys": ["arn:aws:kms:eu-1:1:key/2"]},
    }

    found = load(tmp_path, **stack(decryption, **IDENTITY)).tenants["dev-team"].sync.decryption

    assert found is not None
    assert found.rule_keys == {
        "age": (first.recipient, post_quantum_key.RECIPIENT),
        "pgp": (key.fingerprint,),
        "kms": ("arn:aws:kms:eu-1:1:key/2",),
    }


def test_public_keys_that_are_left_out_are_derived(tmp_path):
    found = load(tmp_path, **stack(age("first", "second"))).tenants["dev-team"].sync.decryption

    assert found is not None
    assert found.rule_keys == {"age": (age_identity("first").recipient, age_identity("second").recipient)}


def test_a_sync_without_decryption_has_none(tmp_path):
    assert load(tmp_path, tenants={"dev-team": {}}).decryptions == {}


def test_private_keys_are_hidden_when_the_stack_is_printed(tmp_path):
    config = load(tmp_path, **stack(age("first")))

    assert age_identity("first").private not in f"{config!r} {config}"


@pytest.mark.parametrize(
    ("decryption", "key", "public"),
    [
        (age("first"), "age.identities", age_identity("first").recipient),
        (openpgp(openpgp_key("first").private), "openpgp.privateKeys", openpgp_key("first").fingerprint),
    ],
)
def test_a_key_that_two_tenants_decrypt_with_is_refused(tmp_path, decryption, key, public):
    both = {tenant: {"sync": {"decryption": decryption}} for tenant in ("dev-team", "ops-team")}
    bases = {"dev-team": DEV_TEAM_BASE, "ops-team": OTHER_BASE}

    [problem] = problems(tmp_path, bases=bases, tenants=both)

    reason = said("FT-CFG-653", public, f"tenants.dev-team.sync.decryption.{key}", "sops")
    assert problem == f"Pulumi.staging.yaml: tenants.ops-team.sync.decryption.{key}: {reason}"


def test_a_key_that_the_platform_and_a_tenant_decrypt_with_is_refused(tmp_path):
    sync = {"source": {"url": "https://git.example.com/fleet"}, "decryption": age("second", "first")}

    problem = refused(tmp_path, age("first"), flux=FLUX | {"sync": sync})

    reason = said("FT-CFG-653", age_identity("first").recipient, "flux.sync.decryption.age.identities", "sops")
    assert problem == f"{WHERE}.age.identities: {reason}"


def test_a_previous_key_that_two_tenants_decrypt_with_is_refused(tmp_path):
    tenants = {
        "dev-team": {"sync": {"decryption": age("first", "second")}},
        "ops-team": {"sync": {"decryption": age("third", "second")}},
    }

    [problem] = problems(tmp_path, bases={"dev-team": DEV_TEAM_BASE, "ops-team": OTHER_BASE}, tenants=tenants)

    assert age_identity("second").recipient in problem


def test_the_single_tenant_profile_with_the_feature_gate_may_use_one(tmp_path):
    arguments = {"kustomize-controller": ["--feature-gates=GroupChangeLog=true,ObjectLevelWorkloadIdentity=true"]}
    flux = FLUX | {"profile": "single-tenant", "extraArgs": arguments}

    load(tmp_path, **stack({"workloadIdentity": {"provider": "aws", "roleArn": ROLE}}, flux=flux))


@pytest.mark.parametrize(
    ("settings", "annotations"),
    [
        ({"provider": "aws", "roleArn": ROLE}, {"eks.amazonaws.com/role-arn": ROLE}),
        ({"provider": "gcp"}, {}),
        (
            {"provider": "gcp", "serviceAccountEmail": "sops@my-project.iam.gserviceaccount.com"},
            {"iam.gke.io/gcp-service-account": "sops@my-project.iam.gserviceaccount.com"},
        ),
        (
            {
                "provider": "gcp",
                "workloadIdentityProvider": "projects/1/locations/global/workloadIdentityPools/pool/providers/cluster",
            },
            {
                "gcp.auth.fluxcd.io/workload-identity-provider": (
                    "projects/1/locations/global/workloadIdentityPools/pool/providers/cluster"
                )
            },
        ),
        (
            {"provider": "azure", "clientId": UUID, "tenantId": UUID},
            {"azure.workload.identity/client-id": UUID, "azure.workload.identity/tenant-id": UUID},
        ),
        ({"provider": "vault"}, {}),
    ],
)
def test_a_cloud_identity_becomes_annotations_of_the_service_account(settings, annotations):
    assert WorkloadIdentity.model_validate(settings).annotations == annotations


@pytest.mark.parametrize("provider", KEY_SERVICES)
def test_keys_of_each_service_are_in_its_own_rule(provider):
    settings = {"aws": {"roleArn": ROLE}, "azure": {"clientId": UUID, "tenantId": UUID}}.get(provider, {})
    decryption = Decryption.model_validate({"workloadIdentity": {"provider": provider, "keys": ["a", "b"], **settings}})

    assert decryption.rule_keys == {KEY_SERVICES[provider].rule: ("a", "b")}


SEALED = "ENC[AES256_GCM,data:lp4XIObfTg==,iv:nhFbOpHBW+,tag:6PVrl41r,type:str]"


def test_each_value_of_a_base_that_sops_has_encrypted_is_refused_once(tmp_path):
    base = DEV_TEAM_BASE.replace("main", f'"{SEALED}"') + f'sops: {{mac: "{SEALED}", version: 3.11.0}}\n'

    found = problems(tmp_path, bases={"dev-team": base}, tenants={"dev-team": {}})

    assert found == [
        "tenants/dev-team.yaml: sops: " + said("FT-CFG-645", "use the file from before its encryption"),
        "tenants/dev-team.yaml: source.branch: "
        + said(
            "FT-CFG-645",
            "write the value itself or, if it is a secret, set it with "
            "`pulumi config set --secret --path tenants.dev-team.source.branch`",
        ),
    ]


def test_an_encrypted_value_that_the_stack_replaces_is_refused_too(tmp_path):
    base = DEV_TEAM_BASE.replace("main", f'"{SEALED}"')

    [problem] = problems(tmp_path, bases={"dev-team": base}, tenants={"dev-team": {"source": {"branch": "main"}}})

    assert problem.startswith("tenants/dev-team.yaml: source.branch: is encrypted by SOPS")
