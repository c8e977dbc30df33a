"""Flux's objects of a stack with every key that becomes a field of them: as they were when each key had a type."""

from __future__ import annotations

from typing import Any

import pytest
from sample_stack import FLUX, Secret, load

from flux_tenancy.components.stack.plan import stack_plan
from tests.support.goldens import assert_golden

SELECTOR = {"group": "apps", "version": "v1", "kind": "Deployment", "name": "web", "labelSelector": "app=web"}
EXPRESSIONS = [
    {"apiVersion": "example.com/v1", "kind": "Db", "current": "status.ready", "inProgress": "!status.ready"},
    {"apiVersion": "example.com/v2", "kind": "Db", "current": "status.ready", "failed": "status.failed"},
]
APPLIED: dict[str, Any] = {
    "interval": "7m",
    "retryInterval": "2m",
    "timeout": "3m",
    "prune": False,
    "suspend": True,
    "force": True,
    "components": ["../components/tls", "../components/dns"],
    "ignoreMissingComponents": True,
    "patches": [
        {"target": SELECTOR, "merge": {"spec": {"replicas": None}}},
        {"merge": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 2}}},
        {
            "target": {"annotationSelector": "a=b", "namespace": "apps"},
            "operations": [
                {"path": "/data/a", "op": "add", "value": None},
                {"from": "/data/a", "op": "copy", "path": "/data/b"},
                {"op": "remove", "path": "/data/c"},
            ],
        },
        {"target": {}, "merge": {"metadata": {"labels": {"ä": "b"}}}},
    ],
    "images": [
        {"name": "web", "newName": "registry.example.com/web", "digest": f"sha256:{'0' * 64}"},
        {"name": "db", "newTag": "2"},
    ],
    "namePrefix": "eu-",
    "nameSuffix": "-2",
    "commonMetadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
    "postBuild": {
        "substitute": {"region": "eu", "empty": ""},
        "substituteFrom": [{"kind": "Secret", "name": "variables", "optional": True}],
        "substituteStrategy": "Always",
    },
    "ignore": [{"paths": ["/spec/replicas"], "target": SELECTOR}, {"paths": ["/data"]}],
}
DEFAULTS: dict[str, Any] = {
    "suspend": False,
    "force": False,
    "components": [],
    "ignoreMissingComponents": False,
    "patches": [],
    "images": [],
    "namePrefix": None,
    "commonMetadata": {"labels": {}, "annotations": {"a": "b"}},
    "postBuild": {
        "substitute": {"a": "b"},
        "substituteFrom": [{"kind": "ConfigMap", "name": "variables", "optional": False}],
        "substituteStrategy": "WithVariables",
    },
    "healthChecks": [],
    "ignore": [],
}
CHECKED = {
    "wait": False,
    "healthChecks": [
        {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        {"apiVersion": "apps/v1", "kind": "Deployment", "name": "db", "namespace": "tools"},
    ],
    "healthCheckExprs": EXPRESSIONS,
}
RELEASE: dict[str, Any] = {
    "chart": "./chart",
    "reconcileStrategy": "Revision",
    "valuesFiles": ["./chart/values.yaml"],
    "values": {"a": [1, {"b": None}], "c": {}, "optional": False},
    "valuesFrom": [
        {"kind": "ConfigMap", "name": "a", "valuesKey": "k", "targetPath": "a.b[0]", "optional": True, "literal": True},
        {"kind": "Secret", "name": "b", "optional": False, "literal": False},
    ],
    "secretValues": {"redis.password": Secret("pa55word")},
    "releaseName": "web-1",
    "targetNamespace": "tools",
    "dependsOn": ["charts"],
    "interval": "11m",
    "chartInterval": "12m",
    "timeout": "13m",
    "retryInterval": "3m",
    "driftDetection": {"mode": "enabled", "ignore": APPLIED["ignore"]},
    "test": True,
    "suspend": True,
    "healthCheckExprs": EXPRESSIONS,
    **{key: APPLIED[key] for key in ("patches", "images", "commonMetadata")},
}
TENANT: dict[str, Any] = {
    "namespaces": [{"name": "apps"}, {"name": "tools"}],
    "source": {"url": "https://git.example.com/a/b", "semver": ">=1.0.0", "ignore": "*.md", "suspend": True},
    "sources": {
        "git": {"kind": "GitRepository", "url": "http://git.example.com/a/b", "branch": "x", "commit": "0" * 40},
        "charts": {
            "kind": "HelmRepository",
            "url": "https://charts.example.com",
            "interval": "9m",
            "timeout": "30s",
            "passCredentials": True,
            "suspend": True,
        },
        "registry": {"kind": "HelmRepository", "url": "oci://registry.example.com/charts", "insecure": True},
        "artifact": {
            "kind": "OCIRepository",
            "url": "oci://registry.example.com/charts/web",
            "ref": {"semver": "6.x", "semverFilter": "rc"},
            "layerSelector": {"mediaType": "application/x"},
            "ignore": "*.md",
            "provider": "aws",
            "serviceAccountName": "reader",
        },
        "tagged": {"kind": "OCIRepository", "url": "oci://registry.example.com/a", "ref": {"tag": "1"}},
        "pinned": {
            "kind": "OCIRepository",
            "url": "oci://registry.example.com/b",
            "ref": {"digest": f"sha256:{'1' * 64}"},
            "layerSelector": {"mediaType": "application/x", "operation": "copy"},
            "verify": {"keyless": {"issuer": "https://issuer.example.com", "subject": "ci@example.com"}},
        },
        "bucket": {
            "kind": "Bucket",
            "bucketName": "manifests",
            "endpoint": "s3.example.com",
            "region": "eu-1",
            "prefix": "apps/",
            "ignore": "*.md",
            "provider": "aws",
            "serviceAccountName": "reader",
        },
    },
    "sync": {"dependsOn": ["checked"], "targetNamespace": "apps", "deletionPolicy": "Orphan"} | DEFAULTS,
    "syncs": {"options": APPLIED, "checked": CHECKED | {"targetNamespace": "tools"}, "artifact": {"source": "artifact"}},
    "releases": {
        "full": RELEASE,
        "charts": {"source": "charts", "chart": "web", "version": "6.x", "strategy": "RemediateOnFailure"},
        "artifact": {"source": "artifact", "driftDetection": {"mode": "disabled"}, "test": False},
        "warned": {"source": "artifact", "driftDetection": {"mode": "warn"}, "strategy": "RemediateOnFailure"}
        | {"retries": 0, "targetNamespace": "apps"},
    },
    "notifications": {
        "chat": {"type": "generic", "address": "https://a.example.com", "severity": "error", "kinds": ["HelmRelease"]}
        | {"include": ["a"], "exclude": ["b"], "metadata": {"summary": "c"}}
    },
}
PLATFORM = {"source": {"url": "https://git.example.com/platform", "tag": "v1"}} | {
    key: value for key, value in APPLIED.items() if key != "suspend"
}
FLUX_GROUP = ".toolkit.fluxcd.io/"


def stack(tmp_path, tenant: dict[str, Any], **flux: Any):
    return load(
        tmp_path,
        bases={"shop": "{}"},
        flux=FLUX | {"workloadIdentity": True} | flux,
        tenants={"shop": tenant},
        policies={"engine": "none"},
    )


def objects(config) -> list[dict[str, Any]]:
    plan = stack_plan(config, "staging")
    planned = [*plan.platform, *(each for tenant in plan.tenants.values() for each in tenant)]
    return [each.manifest for each in planned if FLUX_GROUP in each.manifest.get("apiVersion", "")]


@pytest.mark.golden
def test_every_key_is_the_field_that_it_was(tmp_path) -> None:
    config = stack(tmp_path, TENANT, sync=PLATFORM)

    assert_golden("flux-specs.yaml", objects(config))
