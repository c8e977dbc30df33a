"""What decrypts a sync: what the stack may say, what is refused, and in which words."""

import pytest
from sample_sops_keys import age_identity, openpgp_key, with_age, with_passphrase
from sample_stack import DEV_TEAM_BASE, FLUX, Secret, load, problems

from components.sync.decryption import Decryption, WorkloadIdentity
from components.sync.workload_identity import PROVIDERS

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


def test_keys_of_all_kinds_may_stand_side_by_side(tmp_path):
    first, second, key = age_identity("first"), age_identity("second", True), openpgp_key("first")
    decryption = {
        "age": {
            "identities": Secret(f"{first.private}\n{second.private}"),
            "recipients": [first.recipient, second.recipient],
        },
        **openpgp(key.private, fingerprints=[key.fingerprint.lower()]),
        "workloadIdentity": {"provider": "aws", "roleArn": ROLE, "keys": ["arn:aws:kms:eu-1:1:key/2"]},
    }

    found = load(tmp_path, **stack(decryption, **IDENTITY)).tenants["dev-team"].sync.decryption

    assert found is not None
    assert found.rule_keys == {
        "age": (first.recipient, second.recipient),
        "pgp": (key.fingerprint,),
        "kms": ("arn:aws:kms:eu-1:1:key/2",),
    }


def test_public_halves_that_nobody_has_written_down_are_derived(tmp_path):
    found = load(tmp_path, **stack(age("first", "second"))).tenants["dev-team"].sync.decryption

    assert found is not None
    assert found.rule_keys == {"age": (age_identity("first").recipient, age_identity("second").recipient)}


def test_a_sync_that_decrypts_nothing_says_nothing(tmp_path):
    assert load(tmp_path, tenants={"dev-team": {}}).decryptions == {}


def test_the_private_half_is_hidden_from_whoever_prints_the_stack(tmp_path):
    config = load(tmp_path, **stack(age("first")))

    assert age_identity("first").private not in f"{config!r} {config}"


@pytest.mark.parametrize(
    ("decryption", "key", "reason"),
    [
        ({}, "", "names nothing that decrypts; `make sops-key` makes a key, or take it out"),
        (age("first") | {"sops": True}, ".sops", "is an unknown key"),
        (
            {"age": {"identities": Secret(age_identity("first").recipient)}},
            ".age.identities",
            "has a line 1 that is a recipient, which is public; the identity begins with AGE-SECRET-KEY-1",
        ),
        ({"age": {"identities": Secret(" \n")}}, ".age.identities", "holds no identity"),
        ({"age": {"recipients": []}}, ".age.identities", "is required and missing"),
        (openpgp(openpgp_key("first").public), ".openpgp.privateKeys", "is a public key, which decrypts nothing"),
        (openpgp(with_passphrase()), ".openpgp.privateKeys", "is protected by a passphrase, which Flux cannot ask for"),
        (
            openpgp(openpgp_key("first").private, fingerprints=["7E7C5FA4"]),
            ".openpgp.fingerprints[0]",
            "is no fingerprint",
        ),
        (age("first", recipients=[age_identity("first").private]), ".age.recipients[0]", "withdraw it"),
        (age("first", recipients=["age1qqq"]), ".age.recipients[0]", "is no whole recipient of age"),
        (
            age("first", recipients=[age_identity("stranger").recipient]),
            ".age.recipients",
            f"has {age_identity('stranger').recipient}, which nobody here can decrypt for; "
            f"it must be {age_identity('first').recipient}",
        ),
        (
            age("first", "second", recipients=[age_identity("second").recipient]),
            ".age.recipients",
            f"is not whole; it must be {age_identity('first').recipient}, {age_identity('second').recipient}",
        ),
        (
            openpgp(openpgp_key("first").private, fingerprints=[openpgp_key("second").fingerprint]),
            ".openpgp.fingerprints",
            f"has {openpgp_key('second').fingerprint}, which nobody here can decrypt for",
        ),
    ],
)
def test_what_cannot_decrypt_is_refused_where_it_stands_without_a_private_key(tmp_path, decryption, key, reason):
    problem = refused(tmp_path, decryption)

    assert problem.startswith(f"{WHERE}{key}: ")
    assert reason in problem
    assert "AGE-SECRET-KEY-1Q" not in problem
    assert age_identity("first").private not in problem


def test_identities_in_plain_text_are_to_be_renewed(tmp_path):
    problem = refused(tmp_path, with_age("first"))

    assert problem.startswith(f"{WHERE}.age.identities: stands in plain text; renew it")
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

    assert problem == (
        f"Pulumi.staging.yaml: tenants.ops-team.sync.decryption.{key}: holds the key {public} of "
        f"tenants.dev-team.sync.decryption.{key} too; each tenant has keys of its own in each environment: "
        "`make sops-key` makes one"
    )


def test_the_platform_shares_no_key_with_a_tenant_either(tmp_path):
    sync = {"source": {"url": "https://git.example.com/fleet"}, "decryption": age("second", "first")}

    problem = refused(tmp_path, age("first"), flux=FLUX | {"sync": sync})

    assert problem.startswith(f"{WHERE}.age.identities: holds the key {age_identity('first').recipient} of flux.sync.")


def test_an_old_key_that_is_still_there_is_shared_too(tmp_path):
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
            "which flux.workloadIdentity lets Flux have; set it to true",
        ),
        (
            {"profile": "single-tenant"},
            {"provider": "aws", "roleArn": ROLE},
            "",
            "needs the feature gate ObjectLevelWorkloadIdentity, which the single-tenant profile leaves off; add "
            "`--feature-gates=ObjectLevelWorkloadIdentity=true` to flux.extraArgs.kustomize-controller",
        ),
        (
            {"workloadIdentity": True},
            {"provider": "aws", "roleArn": ROLE},
            "",
            "names no key whose region would tell the hosts of KMS and STS",
        ),
        ({"workloadIdentity": True}, {"provider": "vault"}, ".provider", "is vault, but flux.vaults lists no server"),
        ({"workloadIdentity": True}, {"provider": "aws", "keys": KEYS}, ".roleArn", "is required for aws and missing"),
        ({"workloadIdentity": True}, {"provider": "azure", "clientId": UUID}, ".tenantId", "is required for azure"),
        (
            {"workloadIdentity": True},
            {"provider": "gcp", "roleArn": ROLE},
            ".roleArn",
            "is nothing that gcp knows; take it out",
        ),
        (
            {"workloadIdentity": True},
            {"provider": "aws", "roleArn": "arn:aws:iam::me:role/sops", "keys": KEYS},
            ".roleArn",
            "'arn:aws:iam::me:role/sops' is refused by Flux, which expects ^arn:aws",
        ),
        (
            {"workloadIdentity": True},
            {"provider": "gcp", "serviceAccountEmail": "sops@example.com"},
            ".serviceAccountEmail",
            "'sops@example.com' is refused by Flux",
        ),
        ({"workloadIdentity": True}, {"provider": "oracle"}, ".provider", "'oracle' is not one of"),
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
def test_a_cloud_identity_is_what_the_service_account_carries(settings, annotations):
    assert WorkloadIdentity.model_validate(settings).annotations == annotations


@pytest.mark.parametrize("provider", PROVIDERS)
def test_keys_of_each_service_are_named_in_its_own_rule(provider):
    settings = {"aws": {"roleArn": ROLE}, "azure": {"clientId": UUID, "tenantId": UUID}}.get(provider, {})
    decryption = Decryption.model_validate({"workloadIdentity": {"provider": provider, "keys": ["a", "b"], **settings}})

    assert decryption.rule_keys == {PROVIDERS[provider].rule: ("a", "b")}


SEALED = "ENC[AES256_GCM,data:lp4XIObfTg==,iv:nhFbOpHBW+,tag:6PVrl41r,type:str]"


@pytest.mark.parametrize("text", [SEALED, f"  {SEALED}\n", Secret(SEALED)])
def test_a_value_that_sops_has_encrypted_is_none_of_pulumis(tmp_path, text):
    problem = refused(tmp_path, {"age": {"identities": text}})

    assert problem == (
        f"{WHERE}.age.identities: is encrypted by SOPS, which nobody decrypts here; put the value itself there, or, if "
        "it is a secret, set it by `pulumi config set --secret --path tenants.dev-team.sync.decryption.age.identities`"
    )


def test_a_tenants_base_that_sops_has_encrypted_is_told_once_for_each_value(tmp_path):
    base = DEV_TEAM_BASE.replace("main", f'"{SEALED}"') + f'sops: {{mac: "{SEALED}", version: 3.11.0}}\n'

    found = problems(tmp_path, bases={"dev-team": base}, tenants={"dev-team": {}})

    assert found == [
        "tenants/dev-team.yaml: sops: is what SOPS adds to a file that it encrypts; take the file as it was before "
        "`sops`",
        "tenants/dev-team.yaml: source.branch: is encrypted by SOPS, which nobody decrypts here; put the value itself "
        "there, or, if it is a secret, set it by `pulumi config set --secret --path tenants.dev-team.source.branch`",
    ]


def test_what_the_stack_puts_something_else_in_the_place_of_is_told_too(tmp_path):
    base = DEV_TEAM_BASE.replace("main", f'"{SEALED}"')

    [problem] = problems(tmp_path, bases={"dev-team": base}, tenants={"dev-team": {"source": {"branch": "main"}}})

    assert problem.startswith("tenants/dev-team.yaml: source.branch: is encrypted by SOPS")
