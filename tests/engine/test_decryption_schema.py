"""The `decryption` of syncs, validated with the schema of the installed release."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from dev.lab.build import ensure
from dev.lab.settings import Settings
from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.keys import age_keys, openpgp_keys
from flux_tenancy.components.sync.decryption import Decryption, decryption_objects
from flux_tenancy.components.sync.kustomization import Reconciliation, kustomization
from flux_tenancy.components.vocabulary.names import ObjectMeta
from tests.support.releases import FLUX_BUNDLE
from tests.support.schemas import spec_schema, strict

PLACE = ObjectMeta(name="dev-team", namespace="apps", labels={})
RELEASE = FLUX_BUNDLE
UUID = "0b1c2d3e-0000-4000-8000-00000000abcd"
POOL = "projects/1/locations/global/workloadIdentityPools/pool/providers/cluster"
SERVICES: list[dict[str, Any]] = [
    {"provider": "aws", "roleArn": "arn:aws:iam::123456789012:role/sops"},
    {"provider": "azure", "clientId": UUID, "tenantId": UUID},
    {"provider": "gcp", "serviceAccountEmail": "sops@my-project.iam.gserviceaccount.com"},
    {"provider": "gcp", "workloadIdentityProvider": POOL},
    {"provider": "vault"},
]


@pytest.fixture(scope="module")
def decryption() -> Draft202012Validator:
    """The part of the release's schema of Kustomizations that is about decryption."""
    bundle = ensure(Settings.load(), [RELEASE])[RELEASE]
    manifests = yaml.load_all(bundle.read_text(), FastLoader)
    [definition] = [
        each
        for each in manifests
        if each["kind"] == "CustomResourceDefinition" and each["spec"]["names"]["kind"] == "Kustomization"
    ]
    return Draft202012Validator(strict(spec_schema(definition, "v1")["properties"]["decryption"]))


def built(config: Decryption | None) -> dict[str, Any]:
    manifest = kustomization(
        PLACE.metadata(PLACE.name),
        Reconciliation(),
        path="./",
        service_account="dev-team",
        decryption=decryption_objects(PLACE, config).spec,
    )
    found: dict[str, Any] = manifest["spec"]["decryption"]
    return found


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: "-".join(list(service.values())[:1]))
def test_decryption_with_a_key_service_matches_the_releases_schema(
    decryption: Draft202012Validator, service: dict[str, Any]
) -> None:
    found = built(Decryption.model_validate({"workloadIdentity": service}))

    decryption.validate(found)
    assert found == {"provider": "sops", "serviceAccountName": "dev-team-decryption"}


def test_decryption_with_keys_matches_the_releases_schema(decryption: Draft202012Validator) -> None:
    keys = {
        "age": {"identities": age_keys.generate().private},
        "openpgp": {"privateKeys": openpgp_keys.generate("of a test").private},
        "workloadIdentity": {"provider": "vault"},
    }

    decryption.validate(built(Decryption.model_validate(keys)))
    decryption.validate(built(None))


def test_an_unknown_field_fails_the_schema(decryption: Draft202012Validator) -> None:
    assert not decryption.is_valid(built(None) | {"serviceAccount": "dev-team"})
    assert not decryption.is_valid({"provider": "pulumi"})
