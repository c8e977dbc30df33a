"""What is passed through to Flux's objects: any field of the release, and no other."""

from __future__ import annotations

import copy
from hashlib import sha256
from typing import Any

import pytest
import yaml
from sample_release import HERE, RELEASE_FILE
from sample_stack import FLUX, Secret, load

from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.components.config.section import Passed
from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.stack.checks import flux as flux_specs
from flux_tenancy.components.stack.checks.flux import spec_problems
from flux_tenancy.components.stack.cluster.findings import offline_preflight
from flux_tenancy.components.stack.cluster.preflight import preflight
from flux_tenancy.components.stack.files.stack_file import StackFile
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
        {
            "merge": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "web"},
                "spec": {"replicas": 2},
            }
        },
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
    "syncs": {
        "options": APPLIED,
        "checked": CHECKED | {"targetNamespace": "tools"},
        "artifact": {"source": "artifact"},
    },
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


DEFINITIONS = list(yaml.load_all((HERE / "fixtures" / "definitions.yaml").read_text(), FastLoader))
SOURCE = {"url": "https://git.example.com/a/b"}
SIMPLE = {"namespaces": [{"name": "apps"}], "source": SOURCE}
CHART = {"chart": "./chart"}


def problems(config) -> list[str]:
    """What the definitions of the release refuse."""
    found = spec_problems(config, DEFINITIONS, "staging", "Pulumi.staging.yaml")
    return [f"{each.file}: {each.path}: {each.message}" for each in found]


def test_every_key_is_a_field_of_the_release(tmp_path) -> None:
    assert problems(stack(tmp_path, TENANT, sync=PLATFORM)) == []


@pytest.mark.parametrize(
    ("section", "kind", "fields"),
    [
        ("sync", "Kustomization", {"buildMetadata": ["originAnnotations"]}),
        ("syncs", "Kustomization", {"postBuild": {"substituteFrom": [{"kind": "ConfigMap", "name": "a"}]}}),
        ("releases", "HelmRelease", {"maxHistory": 3, "persistentClient": False, "rollback": {"cleanupOnFail": True}}),
        ("releases", "HelmRelease", {"uninstall": {"keepHistory": True}, "waitStrategy": {"name": "poller"}}),
    ],
)
def test_any_field_of_the_release_is_a_key(tmp_path, section, kind, fields) -> None:
    value = {"sync": fields, "syncs": {"a": fields}, "releases": {"a": CHART | fields}}[section]
    config = stack(tmp_path, SIMPLE | {section: value})
    name = "shop" if section == "sync" else "a"
    [found] = [each for each in objects(config) if (each["kind"], each["metadata"]["name"]) == (kind, name)]

    assert problems(config) == []
    assert {key: found["spec"][key] for key in fields} == fields


GIT = {"kind": "GitRepository"} | SOURCE
HELM = {"kind": "HelmRepository", "url": "https://charts.example.com"}
OCI = {"kind": "OCIRepository", "url": "oci://registry.example.com/shop/manifests"}
BUCKET = {"kind": "Bucket", "bucketName": "a", "endpoint": "s3.example.com", "provider": "aws"}
LOGIN = {"provider": "azure", "serviceAccountName": "reader"}


@pytest.mark.parametrize(
    ("source", "fields"),
    [
        (GIT, {"sparseCheckout": ["apps"], "recurseSubmodules": True, "ignore": "*.md"}),
        (GIT | {"url": "https://dev.azure.com/acme/shop/_git/apps"}, LOGIN),
        (HELM, {"passCredentials": True}),
        (OCI, {"ref": {"digest": f"sha256:{'0' * 64}"}, "ignore": ""}),
        (
            BUCKET | {"serviceAccountName": "reader"},
            {"prefix": "a/", "sts": {"provider": "aws", "endpoint": "https://a"}},
        ),
    ],
)
def test_any_field_of_the_release_is_a_key_of_a_source(tmp_path, source, fields) -> None:
    config = stack(tmp_path, SIMPLE | {"sources": {"it": source | fields}})
    [found] = [each for each in objects(config) if each["metadata"]["name"] == "it"]

    assert problems(config) == []
    assert {key: found["spec"][key] for key in fields} == fields


@pytest.mark.parametrize(
    ("source", "path", "code"),
    [
        (GIT | {"sparseCheckouts": []}, "", ""),
        (HELM | {"ref": {"tag": "1"}}, "ref", "FT-FLX-030"),
    ],
)
def test_what_the_release_does_not_know_of_a_source_is_told_with_its_key(tmp_path, source, path, code) -> None:
    own = stack(tmp_path, SIMPLE | {"sources": {"it": source}})
    shared = load(
        tmp_path,
        bases={"shop": "{}", "lab": "{}"},
        tenants={"shop": SIMPLE, "lab": SIMPLE | {"namespaces": [{"name": "lab"}]}},
        shared={"it": {"tenants": ["shop", "lab"], "source": source}},
        flux=FLUX | {"workloadIdentity": True},
        policies={"engine": "none"},
    )
    for config, where in ((own, "tenants.shop.sources.it"), (shared, "shared.it.source")):
        found = spec_problems(config, DEFINITIONS, "staging", "Pulumi.staging.yaml")
        assert [(each.path, each.code) for each in found] == [(f"{where}.{path}", code)] * bool(path)


def test_what_the_program_writes_is_never_passed_through_as_well(tmp_path) -> None:
    """Otherwise one of the two would be lost without a word."""
    config = stack(tmp_path, TENANT, sync=PLATFORM)
    written = {(each["kind"], each["metadata"]["name"]): each["spec"] for each in objects(config)}
    lost: dict[str, set[str]] = {}
    for (_, kind, name), (_, section) in flux_specs._sections(config):
        assert isinstance(section, Passed)
        keys = {field.alias for field in type(section).model_fields.values()} | (section.model_extra or {}).keys()
        lost.setdefault(kind, set()).update(written[kind, name].keys() - keys - section.owned.keys())

    assert {kind: fields for kind, fields in lost.items() if fields} == {}


def test_any_field_of_the_release_is_a_key_of_a_notification(tmp_path) -> None:
    chat = {"type": "generic", "address": "https://a.example.com", "summary": "here", "suspend": True, "timeout": "9s"}
    config = stack(tmp_path, SIMPLE | {"notifications": {"chat": chat}})
    specs = {each["kind"]: each["spec"] for each in objects(config) if each["metadata"]["name"] == "shop-chat"}

    assert problems(config) == []
    assert (specs["Alert"]["summary"], specs["Alert"]["suspend"], specs["Provider"]["timeout"]) == ("here", True, "9s")
    assert "summary" not in specs["Provider"] and "timeout" not in specs["Alert"]


@pytest.mark.parametrize("key", ["notifications", "tenancy"])
def test_what_the_release_does_not_know_of_a_notification_is_told_with_its_key(tmp_path, key) -> None:
    chat = {"chat": {"type": "generic", "address": "https://a.example.com", "channels": "a", "channel": "a" * 3000}}
    own = {"notifications": chat} if key == "notifications" else {}
    tenancy = {} if own else {"notifications": chat}
    config = load(tmp_path, bases={"shop": "{}"}, tenants={"shop": SIMPLE | own}, tenancy=tenancy)
    found = spec_problems(config, DEFINITIONS, "staging", "Pulumi.staging.yaml")
    where = "tenants.shop.notifications.chat" if own else "tenancy.notifications.chat"

    assert sorted((each.path, each.code) for each in found) == [
        (f"{where}.channel", "FT-FLX-033"),
        (f"{where}.channels", "FT-FLX-030"),
    ]


def test_fields_beside_those_that_the_platform_sets_stay_beside_them(tmp_path) -> None:
    release = CHART | {
        "strategy": "RemediateOnFailure",
        "install": {"disableHooks": True, "remediation": {"remediateLastFailure": True}},
        "test": {"enable": True, "ignoreFailures": True},
        "verify": {"provider": "cosign"},
    }
    config = stack(tmp_path, SIMPLE | {"releases": {"web": release}})
    [spec] = [each["spec"] for each in objects(config) if each["kind"] == "HelmRelease"]

    assert problems(config) == []
    assert spec["install"] == {
        "crds": "Skip",
        "strategy": {"name": "RemediateOnFailure"},
        "remediation": {"retries": 3, "remediateLastFailure": True},
        "disableHooks": True,
    }
    assert spec["test"] == release["test"]
    assert spec["chart"]["spec"]["verify"] == release["verify"] and "verify" not in spec


def test_a_key_that_is_no_string_is_told_like_any_other(tmp_path) -> None:
    base = "{namespaces: [{name: apps}], source: {url: 'https://git.example.com/a/b'}, sync: {postBuild: {1: a}}}"
    config = load(tmp_path, bases={"shop": base}, tenants={"shop": {}}, policies={"engine": "none"})

    [found] = spec_problems(config, DEFINITIONS, "staging", "Pulumi.staging.yaml")

    assert (found.file, found.code) == ("tenants/shop.yaml", "FT-FLX-030")


def test_a_health_check_without_a_namespace_is_about_the_syncs_own(tmp_path) -> None:
    check = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": None}
    config = stack(tmp_path, SIMPLE | {"sync": {"wait": False, "healthChecks": [check]}})
    [spec] = [each["spec"] for each in objects(config) if each["kind"] == "Kustomization"]

    assert spec["healthChecks"] == [check | {"namespace": "apps"}]


def test_the_source_of_the_platform_is_checked(tmp_path) -> None:
    config = stack(tmp_path, SIMPLE, sync={"source": SOURCE | {"timeout": "1h"}, "prune": False, "pruned": True})
    found = spec_problems(config, DEFINITIONS, "staging", "Pulumi.staging.yaml")

    assert [(each.path, each.code) for each in found] == [
        ("flux.sync.source.timeout", "FT-FLX-033"),
        ("flux.sync.pruned", "FT-FLX-030"),
    ]


def test_all_errors_are_told_at_once_with_the_file_of_each(tmp_path) -> None:
    base = "{namespaces: [{name: apps}], source: {url: 'https://git.example.com/a/b'}, sync: {forced: true}}"
    entry = {"syncs": {"a": {"forced": True}}, "releases": {"web": CHART | {"maxHistory": "3", "b": 1}}}
    config = load(tmp_path, bases={"shop": base}, tenants={"shop": entry}, policies={"engine": "none"})

    found = spec_problems(config, DEFINITIONS, "staging", "Pulumi.staging.yaml")

    assert sorted((each.file, each.path) for each in found) == [
        ("Pulumi.staging.yaml", "tenants.shop.releases.web.b"),
        ("Pulumi.staging.yaml", "tenants.shop.releases.web.maxHistory"),
        ("Pulumi.staging.yaml", "tenants.shop.syncs.a.forced"),
        ("tenants/shop.yaml", "sync.forced"),
    ]


def test_a_review_and_an_update_are_refused_before_anything_else(tmp_path) -> None:
    """Together with whatever else is wrong with releases and cluster."""
    content = RELEASE_FILE.read_bytes() + b"\n---\n" + (HERE / "fixtures" / "definitions.yaml").read_bytes()
    (tmp_path / "install.yaml").write_bytes(content)
    flux = FLUX | {"sha256": sha256(content).hexdigest(), "manifests": {"bundle": "install.yaml"}}
    (tmp_path / "kubeconfig").write_text("{}")
    file = "Pulumi.staging.yaml"
    config = load(tmp_path, bases={"shop": "{}"}, tenants={"shop": SIMPLE | {"sync": {"forced": True}}}, flux=flux)

    with pytest.raises(ConfigurationError) as reviewed:
        offline_preflight(config, "staging", file, tmp_path)
    with pytest.raises(ConfigurationError) as updated:
        preflight(config, State({}), StackFile(file, {}), tmp_path)

    assert [(each.path, each.code) for each in reviewed.value.problems] == [("tenants.shop.sync.forced", "FT-FLX-030")]
    assert [each.path for each in updated.value.problems] == ["cluster.kubeconfig", "tenants.shop.sync.forced"]


def test_a_message_repeats_no_value(tmp_path) -> None:
    release = CHART | {
        "driftDetection": {"mode": "s3cret"},
        "maxHistory": "s3cret",
        "valuesFrom": [{"kind": "s3cret", "name": "a"}],
    }
    config = stack(tmp_path, SIMPLE | {"releases": {"web": release}, "sync": {"force": "s3cret"}})

    found = problems(config)

    assert len(found) == 4
    assert "s3cret" not in str(found)


def test_a_release_without_a_kind_checks_none_of_it(tmp_path) -> None:
    config = stack(tmp_path, SIMPLE | {"sync": {"unknown": 1}})

    assert spec_problems(config, [], "staging", "Pulumi.staging.yaml") == []


def test_a_field_that_a_later_release_adds_is_a_key_without_a_change_of_the_program(tmp_path) -> None:
    later = copy.deepcopy(DEFINITIONS)
    [kustomizations] = [each for each in later if each["spec"]["names"]["kind"] == "Kustomization"]
    fields = kustomizations["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    fields["added"] = {"type": "object", "properties": {"from": {"type": "string"}}}
    config = stack(tmp_path, SIMPLE | {"sync": {"added": {"from": "here"}}})

    assert spec_problems(config, later, "staging", "Pulumi.staging.yaml") == []
    assert [each["spec"]["added"] for each in objects(config) if each["kind"] == "Kustomization"] == [{"from": "here"}]
    assert len(problems(config)) == 1
