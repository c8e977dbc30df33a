"""What the platform applies for a tenant is valid in the installed release, and allowed by its own policies."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from components.config.yaml_files import FastLoader
from components.policies.config import PolicyEngine
from components.policies.table import policy_set
from components.tenant.config import TenantConfig
from components.tenant.objects import tenant_objects
from components.tenant.tenancy_config import TenancyConfig
from lab.build import ensure
from lab.settings import Settings
from review.admission.program import Answer, Request, Surroundings, ask
from tests.support.offline_requests import ACCESS, PROGRAM
from tests.support.policy_cases import APPS, CONFIGS, NAMESPACE_OBJECTS, TENANT
from tests.support.policy_requests import KYVERNO_KINDS

FLUX = "flux-bundle-2.9.5"
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
        "sync": {"dependsOn": ["checked"], "targetNamespace": APPS},
        "syncs": {"options": OPTIONS, "checked": CHECKED, "artifact": {"source": "artifact"}},
        "releases": {
            "full": FULL,
            "charts": {"source": "charts", "chart": "web", "version": "6.x", "strategy": "RemediateOnFailure"},
            "artifact": {"source": "artifact"},
        },
    }
)


@pytest.fixture(scope="module")
def answers() -> dict[str, Answer]:
    """The answer to the creation of everything that Flux applies for the tenant, by kind and name."""
    tools = ensure(Settings.load(), [FLUX, PROGRAM])
    manifests = yaml.load_all(tools[FLUX].read_text(), FastLoader)
    definitions = [each for each in manifests if each["kind"] == "CustomResourceDefinition"]
    surroundings = Surroundings(
        definitions=[*definitions, *KYVERNO_KINDS],
        policies=policy_set(CONFIGS["open"], PolicyEngine.NATIVE).manifests,
        namespaces=list(NAMESPACE_OBJECTS.values()),
        access=ACCESS,
    )
    applied = tenant_objects(TENANT, CONFIG, TenancyConfig()).applied
    found = ask(tools[PROGRAM], surroundings, [Request("CREATE", each) for each in applied])
    names = [f"{each['kind']} {each['metadata']['name']}" for each in applied]
    return dict(zip(names, found, strict=True))


def test_every_option_of_syncs_and_releases_is_a_field_that_flux_knows(answers: dict[str, Answer]) -> None:
    assert {name: answer.errors for name, answer in answers.items() if answer.errors} == {}
    assert len(answers) == 7


def test_syncs_and_releases_comply_with_the_policies(answers: dict[str, Answer]) -> None:
    assert {name: answer.objections for name, answer in answers.items() if answer.objections} == {}
