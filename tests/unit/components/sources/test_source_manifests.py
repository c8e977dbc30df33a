"""The objects of sources of every kind, and their registration."""

import json
from base64 import b64decode
from typing import Any

import pulumi
import pytest
from pydantic import TypeAdapter
from recorded_program import run
from sample_plan import register_source, room_for
from sample_sources import authority, private_key, stack
from sample_stack import tenant_config

from flux_tenancy.components.git.source import git_access
from flux_tenancy.components.sources.config import Source
from flux_tenancy.components.sources.objects import objects_of
from flux_tenancy.components.vocabulary.names import ObjectMeta

META = ObjectMeta("it", "shop-apps", {"toolkit.fluxcd.io/tenant": "shop"}, owner="shop")
OCI: dict[str, Any] = {"kind": "OCIRepository", "url": "oci://registry.example.com:5000/shop/manifests"}
SOURCES: TypeAdapter[Any] = TypeAdapter(Source)


def made(source: dict[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, str]]]:
    """The `spec` of a source, and its Secrets, decoded, by what their names begin with."""
    *made, found = objects_of(META, SOURCES.validate_python(source), known_hosts=())
    assert (found["kind"], found["metadata"]["name"]) == (source["kind"], "it")
    secrets = {
        each["metadata"]["generateName"]: {key: b64decode(text).decode() for key, text in each["data"].items()}
        for each in made
    }
    assert all(each["immutable"] for each in made)
    login = "kubernetes.io/dockerconfigjson" if source["kind"] == "OCIRepository" else "Opaque"
    types = {each["metadata"]["generateName"]: each["type"] for each in made}
    assert types == {name: login if name.endswith("-credentials-") else "Opaque" for name in types}
    return found["spec"], secrets


def test_an_oci_repository_logs_in_verifies_and_trusts_an_authority():
    spec, secrets = made(
        OCI
        | {
            "ref": {"semver": "6.x"},
            "verify": {"keyless": {"issuer": "https://issuer.example.com", "subject": "ci@example.com"}},
            "credentials": {"username": "shop", "password": "t0ken"},
            "certificateAuthority": authority(),
            "proxy": {"address": "http://proxy.example.com", "username": "me", "password": "pr0xy"},
            "ignore": "*.md",
            "suspend": True,
        }
    )

    assert spec == {
        "url": "oci://registry.example.com:5000/shop/manifests",
        "interval": "5m",
        "timeout": "60s",
        "ref": {"semver": "6.x"},
        "ignore": "*.md",
        "suspend": True,
        "verify": {
            "provider": "cosign",
            "matchOIDCIdentity": [{"issuer": r"^https://issuer\.example\.com$", "subject": r"^(?:ci@example\.com)$"}],
        },
        "secretRef": {"name": "shop.it-credentials"},
        "certSecretRef": {"name": "shop.it-certificates"},
        "proxySecretRef": {"name": "shop.it-proxy"},
    }
    login = json.loads(secrets["shop.it-credentials-"][".dockerconfigjson"])
    assert login == {"auths": {"registry.example.com:5000": {"username": "shop", "password": "t0ken"}}}
    assert secrets["shop.it-certificates-"] == {"ca.crt": authority()}
    assert secrets["shop.it-proxy-"] == {"address": "http://proxy.example.com", "username": "me", "password": "pr0xy"}


def test_a_pattern_of_the_signer_must_match_the_whole_identity():
    """Flux searches for it anywhere in the certificate's subject."""
    signer = {"issuer": "https://issuer.example.com", "subjectRegExp": "ci@.*|me@example\\.com"}

    spec, _ = made(OCI | {"verify": {"keyless": signer}})

    assert spec["verify"]["matchOIDCIdentity"] == [
        {"issuer": r"^https://issuer\.example\.com$", "subject": r"^(?:ci@.*|me@example\.com)$"}
    ]


@pytest.mark.parametrize(
    ("source", "fields"),
    [
        ({"kind": "HelmRepository", "url": "https://charts.example.com"}, {"url": "https://charts.example.com"}),
        (
            {"kind": "HelmRepository", "url": "oci://registry.example.com", "insecure": True},
            {"url": "oci://registry.example.com", "type": "oci", "insecure": True},
        ),
        (
            {"kind": "Bucket", "bucketName": "app", "endpoint": "https://a.example.com", "provider": "azure"},
            {"bucketName": "app", "endpoint": "https://a.example.com", "provider": "azure"},
        ),
        (OCI | {"provider": "aws", "serviceAccountName": "p"}, {**OCI, "provider": "aws", "serviceAccountName": "p"}),
    ],
)
def test_the_fields_of_a_source_are_those_of_its_kind(source, fields):
    spec, secrets = made(source)

    assert spec == {key: value for key, value in fields.items() if key != "kind"} | {
        "interval": "5m",
        "timeout": "60s",
    }
    assert secrets == {}


@pytest.mark.parametrize(
    ("provider", "credentials", "entries"),
    [
        ("generic", {"accessKey": "id", "secretKey": "s3cret"}, {"accesskey": "id", "secretkey": "s3cret"}),
        ("gcp", {"serviceAccountKey": "{}"}, {"serviceaccount": "{}"}),
        ("azure", {"sasKey": "s3cret"}, {"sasKey": "s3cret"}),
        ("azure", {"accountKey": "s3cret"}, {"accountKey": "s3cret"}),
    ],
)
def test_a_bucket_logs_in_as_its_provider_expects(provider, credentials, entries):
    bucket = {"kind": "Bucket", "bucketName": "app", "endpoint": "s3.example.com", "provider": provider}

    assert made(bucket | {"credentials": credentials})[1] == {"shop.it-credentials-": entries}


def test_nothing_is_created_for_an_artifact_of_another_controller():
    assert objects_of(META, SOURCES.validate_python({"kind": "ExternalArtifact"}), known_hosts=()) == []


def registered(source: dict[str, Any]) -> Any:
    def program() -> None:
        parent = pulumi.ComponentResource("test:index:Parent", "parent")
        access = git_access(stack({}).git_sources)
        register_source(META, SOURCES.validate_python(source), access, parent, [])

    return run(program)


def test_a_source_refers_to_the_generated_names_of_its_secrets():
    login = {"username": "a", "password": "b"}
    resources = registered(OCI | {"credentials": login, "certificateAuthority": authority()})

    spec = resources["OCIRepository shop-apps/it"].properties["spec"]
    for key, name in {"secretRef": "shop.it-credentials", "certSecretRef": "shop.it-certificates"}.items():
        assert spec[key]["name"].startswith(name) and spec[key]["name"] != name


def test_the_keys_of_two_tenants_sources_have_different_names_at_github():
    tenants = {
        name: {"github": {"repository": "acme/apps"}, "url": "ssh://git@github.com/acme/apps", "deployKey": key}
        for name, key in {"a-b": private_key("one"), "a": private_key("two")}.items()
    }
    config = stack(tenants)
    further = SOURCES.validate_python({"kind": "GitRepository"} | tenants["a"])
    tenants_with = {"a": config.tenants["a"].model_copy(update={"sources": {"b": further}})}
    config = config.model_copy(update={"tenants": dict(config.tenants) | tenants_with})

    assert sorted(config.git_sources.by_name) == ["a", "a-b", "a.b"]
    assert config.git_sources.homes["a.b"] == "a-apps"


def test_the_quota_of_the_home_has_room_for_the_platforms_further_sources():
    plain = tenant_config()
    further = tenant_config(sources={"it": OCI, "built": {"kind": "ExternalArtifact"}})
    before, after = room_for(plain, "apps"), room_for(further, "apps")

    assert {key: after[key] - before.get(key, 0) for key in after if after[key] != before.get(key, 0)} == {
        "count/ocirepositories.source.toolkit.fluxcd.io": 1,
        "count/secrets": 8,
    }
