"""The decryption of a sync: what the stack may say, and what is refused."""

import pytest
from sample_sops_keys import age_identity, openpgp_key, with_age, with_passphrase
from sample_stack import DEV_TEAM_BASE, FLUX, Secret, load, problems

from flux_tenancy.components.config.errors import MISSING
from flux_tenancy.components.sync.decryption import KEY_SERVICES, Decryption, WorkloadIdentity
from tests.support import post_quantum_key
from tests.support.messages import said

WHERE = "Pulumi.staging.yaml: tenants.dev-team.sync.decryption"
ROLE = "arn:aws:iam::123456789012:role/sops"
KEYS = ["arn:aws:kms:eu-1:1:key/2"]
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
    ("decryption", "key", "reason"),
    [
        ({}, "", said("FT-CFG-200")),
        (
            age("first") | {"sops": True},
            ".sops",
            said("FT-CFG-602", "the keys here are age, openpgp, workloadIdentity"),
        ),
        (
            {"age": {"identities": Secret(age_identity("first").recipient)}},
            ".age.identities",
            said(
                "FT-CFG-135",
                "an age identity in line 1",
                "one of `flux-tenancy key sops`, which begins with AGE-SECRET-KEY-1",
            ),
        ),
        (
            {"age": {"identities": Secret(" \n")}},
            ".age.identities",
            said(
                "FT-CFG-135",
                "a list of age identities",
                "one of `flux-tenancy key sops`, which begins with AGE-SECRET-KEY-1",
            ),
        ),
        ({"age": {"recipients": []}}, ".age.identities", MISSING()),
        (
            openpgp(openpgp_key("first").public),
            ".openpgp.privateKeys",
            said(
                "FT-CFG-135",
                "complete OpenPGP private keys, each in an armored block, without other text around them",
                "the output of `gpg --export-secret-keys --armor <key>`, or a key of `flux-tenancy key sops --openpgp`",
            ),
        ),
        (
            openpgp(with_passphrase()),
            ".openpgp.privateKeys",
            said(
                "FT-CFG-139", "create a separate key with `flux-tenancy key sops --openpgp`, which stores it encrypted"
            ),
        ),
        (
            openpgp(openpgp_key("first").private, fingerprints=["7E7C5FA4"]),
            ".openpgp.fingerprints[0]",
            said("FT-CFG-135", "the fingerprint of an OpenPGP key", "all of its 40 or 64 hexadecimal digits"),
        ),
        (
            age("first", recipients=[age_identity("first").private]),
            ".age.recipients[0]",
            said("FT-CFG-720", "the recipient (age1…) of another one"),
        ),
        (
            {"age": {"identities": Secret(post_quantum_key.IDENTITY)}},
            ".age.recipients",
            said("FT-CFG-709", 1),
        ),
        (
            age("first", recipients=["age1qqq"]),
            ".age.recipients[0]",
            said("FT-CFG-124", "age recipient, which begins with age1"),
        ),
        (
            age("first", recipients=[age_identity("stranger").recipient]),
            ".age.recipients",
            said("FT-CFG-202", age_identity("first").recipient),
        ),
        (
            age("first", "second", recipients=[age_identity("second").recipient]),
            ".age.recipients",
            said("FT-CFG-202", f"{age_identity('first').recipient}, {age_identity('second').recipient}"),
        ),
        (
            openpgp(openpgp_key("first").private, fingerprints=[openpgp_key("second").fingerprint]),
            ".openpgp.fingerprints",
            said("FT-CFG-202", openpgp_key("first").fingerprint),
        ),
    ],
)
def test_an_unusable_key_is_refused_without_showing_it(tmp_path, decryption, key, reason):
    problem = refused(tmp_path, decryption)

    assert problem == f"{WHERE}{key}: {reason}"
    assert "AGE-SECRET-KEY-1Q" not in problem
    assert age_identity("first").private not in problem


def test_identities_in_plain_text_are_refused(tmp_path):
    problem = refused(tmp_path, with_age("first"))

    reason = said("FT-CFG-640", "", "tenants.dev-team.sync.decryption.age.identities", "")
    assert problem == f"{WHERE}.age.identities: {reason}"
    assert age_identity("first").private not in problem


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


@pytest.mark.parametrize(
    ("flux", "settings", "key", "reason"),
    [
        (
            {},
            {"provider": "aws", "roleArn": ROLE, "keys": KEYS},
            "",
            said("FT-CFG-654"),
        ),
        (
            {"profile": "single-tenant", "version": "2.9.6"},
            {"provider": "aws", "roleArn": ROLE},
            "",
            said("FT-CFG-655", "ObjectLevelWorkloadIdentity", "kustomize-controller"),
        ),
        (
            {"workloadIdentity": True},
            {"provider": "aws", "roleArn": ROLE},
            "",
            said("FT-CFG-656"),
        ),
        ({"workloadIdentity": True}, {"provider": "vault"}, ".provider", said("FT-CFG-657")),
        (
            {"workloadIdentity": True},
            {"provider": "aws", "keys": KEYS},
            ".roleArn",
            said("FT-CFG-605"),
        ),
        (
            {"workloadIdentity": True},
            {"provider": "azure", "clientId": UUID},
            ".tenantId",
            said("FT-CFG-605"),
        ),
        (
            {"workloadIdentity": True},
            {"provider": "gcp", "roleArn": ROLE},
            ".roleArn",
            said("FT-CFG-820", "it is not a setting of gcp", "remove it"),
        ),
        (
            {"workloadIdentity": True},
            {"provider": "oracle"},
            ".provider",
            said("FT-CFG-606", "'oracle'", "'aws', 'gcp', 'azure' or 'vault'", ""),
        ),
    ],
)
def test_a_key_management_service_that_flux_could_not_use_is_refused(tmp_path, flux, settings, key, reason):
    problem = refused(tmp_path, {"workloadIdentity": settings}, flux=FLUX | flux)

    assert problem.startswith(f"{WHERE}.workloadIdentity{key}: ")
    assert reason in problem


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


@pytest.mark.parametrize("text", [SEALED, f"  {SEALED}\n", Secret(SEALED)])
def test_a_value_that_sops_has_encrypted_is_refused(tmp_path, text):
    problem = refused(tmp_path, {"age": {"identities": text}})

    reason = said(
        "FT-CFG-645",
        "write the value itself or, if it is a secret, set it with "
        "`pulumi config set --secret --path tenants.dev-team.sync.decryption.age.identities`",
    )
    assert problem == f"{WHERE}.age.identities: {reason}"


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
