"""What the platform applies for a tenant is valid in the installed release, and allowed by its own policies."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from sample_plan import tenant_objects

from dev.reference.flux_releases import FIELDS
from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.keys import age_keys, openpgp_keys
from flux_tenancy.components.policies.config import PolicyEngine
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.policies.rendering import object_name
from flux_tenancy.components.policies.table import policy_set
from flux_tenancy.components.tenant.config import TenancyConfig, TenantConfig
from flux_tenancy.review.admission.program import Answer, Request, Surroundings, ask
from tests.support.offline_requests import ACCESS, PROGRAM, tool
from tests.support.policy_cases import APPS, CONFIGS, NAMESPACE_OBJECTS, TENANT, kustomization
from tests.support.policy_requests import KYVERNO_KINDS
from tests.support.releases import FLUX_BUNDLE

SELECTOR = {"group": "apps", "version": "v1", "kind": "Deployment", "name": "web", "labelSelector": "app=web"}
OPERATIONS = [{"op": "add", "path": "/data/a", "value": None}, {"op": "copy", "path": "/data/b", "from": "/data/a"}]
OPTIONS: dict[str, Any] = {
    "force": True,
    "components": ["../components/tls"],
    "ignoreMissingComponents": True,
    "patches": [{"target": SELECTOR, "merge": {"spec": {}}}, {"target": {}, "operations": OPERATIONS}],
    "images": [{"name": "web", "newName": "registry.example.com/web", "digest": f"sha256:{'0' * 64}"}],
    "namePrefix": "eu-",
    "nameSuffix": "-2",
    "commonMetadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
    "postBuild": {
        "substitute": {"region": "eu"},
        "substituteFrom": [{"kind": "Secret", "name": "variables", "optional": True}],
        "substituteStrategy": "Always",
    },
    "ignore": [{"paths": ["/spec/replicas"], "target": SELECTOR}],
}
CHECKED = {
    "wait": False,
    "healthChecks": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
    "healthCheckExprs": [
        {"apiVersion": "example.com/v1", "kind": "A", "current": "a", "inProgress": "b", "failed": "c"}
    ],
}
DECRYPTION = {
    "age": {"identities": age_keys.generate().private},
    "openpgp": {"privateKeys": openpgp_keys.generate("of a test").private},
    "workloadIdentity": {"provider": "vault"},
}
PARTS = ("patches", "images", "commonMetadata")
FULL: dict[str, Any] = {
    "chart": "./chart",
    "reconcileStrategy": "Revision",
    "valuesFiles": ["./chart/values.yaml"],
    "values": {"a": [1, {"b": None}]},
    "valuesFrom": [
        {"kind": "ConfigMap", "name": "a", "valuesKey": "k", "targetPath": "a.b[0]", "optional": True, "literal": True}
    ],
    "secretValues": {"redis.password": "pa55word"},
    "releaseName": "web",
    "targetNamespace": APPS,
    "dependsOn": ["charts"],
    "driftDetection": {"mode": "enabled", "ignore": OPTIONS["ignore"]},
    "test": True,
    "suspend": True,
    "healthCheckExprs": CHECKED["healthCheckExprs"],
    **{key: OPTIONS[key] for key in PARTS},
}
CONFIG = TenantConfig.model_validate(
    {
        "namespaces": [{"name": APPS}],
        "source": {"url": "https://git.example.com/org/app"},
        "sources": {
            "charts": {"kind": "HelmRepository", "url": "https://charts.example.com"},
            "artifact": {"kind": "OCIRepository", "url": "oci://registry.example.com/charts/web"},
        },
        "sync": {"dependsOn": ["checked"], "targetNamespace": APPS, "decryption": DECRYPTION},
        "syncs": {"options": OPTIONS, "checked": CHECKED, "artifact": {"source": "artifact"}},
        "releases": {
            "full": FULL,
            "charts": {"source": "charts", "chart": "web", "version": "6.x", "strategy": "RemediateOnFailure"},
            "artifact": {"source": "artifact"},
        },
    }
)


# Fields of Flux's kinds that tenants may not set, with the reason.
CLOSED: dict[str, dict[str, str]] = {
    "ExternalArtifact": {"sourceRef": "tenants may not write such objects at all"},
    "HelmRepository": {"accessFrom": "would give other namespaces access"},
    "ImageRepository": {"accessFrom": "would give other namespaces access"},
    "Provider": {
        "proxy": "sends messages through an address that no policy reads",
        "proxySecretRef": "sends messages through an address that no policy reads",
        "serviceAccountName": "logs in to clouds, whose types are not open",
    },
}


@pytest.fixture(scope="module")
def definitions() -> list[dict[str, Any]]:
    """The CustomResourceDefinitions of the release."""
    manifests = yaml.load_all(tool(FLUX_BUNDLE).read_text(), FastLoader)
    return [each for each in manifests if each["kind"] == "CustomResourceDefinition"]


def fields(definition: dict[str, Any]) -> dict[str, Any]:
    """The schema of each field of `spec`."""
    [version] = definition["spec"]["versions"]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    return found


def creations(definitions: list[dict[str, Any]], objects: list[dict[str, Any]]) -> list[Answer]:
    """The answers to the creation of objects by the platform."""
    surroundings = Surroundings(
        definitions=[*definitions, *KYVERNO_KINDS],
        policies=policy_set(CONFIGS["open"], PolicyEngine.NATIVE).manifests,
        namespaces=list(NAMESPACE_OBJECTS.values()),
        access=ACCESS,
    )
    return ask(tool(PROGRAM), surroundings, [Request("CREATE", each) for each in objects])


@pytest.fixture(scope="module")
def answers(definitions: list[dict[str, Any]]) -> dict[str, Answer]:
    """The answer to the creation of everything that Flux applies for the tenant, by kind and name."""
    applied = tenant_objects(TENANT, CONFIG, TenancyConfig()).applied
    found = creations(definitions, list(applied))
    names = [f"{each['kind']} {each['metadata']['name']}" for each in applied]
    return dict(zip(names, found, strict=True))


def test_every_option_of_syncs_and_releases_is_a_field_that_flux_knows(answers: dict[str, Answer]) -> None:
    assert {name: answer.errors for name, answer in answers.items() if answer.errors} == {}
    assert len(answers) == 7


def test_syncs_and_releases_comply_with_the_policies(answers: dict[str, Answer]) -> None:
    assert {name: answer.objections for name, answer in answers.items() if answer.objections} == {}


def test_each_field_of_the_release_is_listed_or_closed_for_a_reason(definitions: list[dict[str, Any]]) -> None:
    by_kind = {each["spec"]["names"]["kind"]: set(fields(each)) for each in definitions}

    assert {*FIELDS, *CLOSED} == set(by_kind)
    for kind, names in by_kind.items():
        assert {*FIELDS.get(kind, ()), *CLOSED.get(kind, ())} == names, kind
        assert not {*FIELDS.get(kind, ())} & {*CLOSED.get(kind, ())}, kind


def test_a_field_that_a_later_release_adds_is_refused(definitions: list[dict[str, Any]]) -> None:
    later = copy.deepcopy(definitions)
    [definition] = [each for each in later if each["spec"]["names"]["kind"] == "Kustomization"]
    fields(definition)["plugins"] = {"type": "boolean"}
    today, tomorrow = kustomization(), kustomization(plugins=True)

    [unchanged, refused] = creations(later, [today, tomorrow])

    assert unchanged.objections == ()
    assert refused.errors == ()
    [objection] = refused.objections
    assert objection.policy == object_name(PolicyName.ALLOWED_FIELDS)
    assert objection.message.startswith("spec has fields that tenants may not set: plugins; remove them")
