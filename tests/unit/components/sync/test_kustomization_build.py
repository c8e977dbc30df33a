"""What a Kustomization does with manifests before it applies them, from data to what Flux takes."""

import pytest
import yaml
from pydantic import ValidationError

from flux_tenancy.components.config.messages import message_of
from flux_tenancy.components.sync.build import build_fields
from flux_tenancy.components.sync.kustomization import Reconciliation

DIGEST = "sha256:" + "0" * 64


def built(**options):
    return build_fields(Reconciliation.model_validate(options), namespace="apps")


def test_a_folder_is_applied_as_it_is_unless_configured():
    assert built() == {}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("force", True),
        ("components", ["../components/tls"]),
        ("namePrefix", "blue-"),
        ("nameSuffix", "-v2"),
        ("images", [{"name": "app", "newName": "registry.example.com/app", "newTag": "2"}]),
        ("images", [{"name": "app", "digest": DIGEST}]),
        ("commonMetadata", {"labels": {"team": "shop"}}),
        ("ignore", [{"paths": ["/spec/replicas", "/metadata/annotations/a~1b"], "target": {"kind": "Deployment"}}]),
        ("postBuild", {"substitute": {"region": "eu"}, "substituteFrom": [{"kind": "Secret", "name": "vars"}]}),
        ("postBuild", {"substituteStrategy": "Always"}),
        ("healthCheckExprs", [{"apiVersion": "example.com/v1", "kind": "Db", "current": "status.ready"}]),
    ],
)
def test_options_are_set_as_they_are_written(key, value):
    assert built(**{key: value}) == {key: value}


def test_ignoring_missing_components_is_set_with_them():
    fields = {"components": ["a"], "ignoreMissingComponents": True}

    assert built(**fields) == fields


@pytest.mark.parametrize(("written", "namespace"), [({}, "apps"), ({"namespace": "jobs"}, "jobs")])
def test_a_health_check_that_names_no_namespace_is_about_the_syncs_own(written, namespace):
    check = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "app"}

    assert built(wait=False, healthChecks=[check | written])["healthChecks"] == [check | {"namespace": namespace}]


def test_a_merge_patch_with_a_target_needs_no_name_and_keeps_null():
    [patch] = built(patches=[{"target": {"kind": "Deployment"}, "merge": {"spec": {"replicas": None}}}])["patches"]

    assert patch["target"] == {"kind": "Deployment"}
    assert yaml.safe_load(patch["patch"]) == {
        "apiVersion": "v1",
        "kind": "any",
        "metadata": {"name": "any"},
        "spec": {"replicas": None},
    }


def test_a_merge_patch_that_names_its_object_is_handed_over_unchanged():
    merge = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "app"}, "spec": {"replicas": 2}}

    [patch] = built(patches=[{"merge": merge}])["patches"]

    assert patch.keys() == {"patch"}
    assert yaml.safe_load(patch["patch"]) == merge


def test_operations_are_a_json_patch_with_the_values_given():
    operations = [
        {"op": "add", "path": "/spec/template", "value": None},
        {"op": "move", "path": "/metadata/labels/a", "from": "/metadata/labels/b"},
        {"op": "remove", "path": "/spec/replicas"},
    ]

    [patch] = built(patches=[{"target": {"name": "app"}, "operations": operations}])["patches"]

    assert yaml.safe_load(patch["patch"]) == operations


TARGET = {"kind": "Deployment"}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"patches": [{"target": TARGET}]}, "FT-SYN-305"),
        ({"patches": [{"target": TARGET, "merge": {"metadata": "x"}}]}, "FT-SYN-315"),
        ({"patches": [{"target": TARGET, "merge": {}, "operations": [{"op": "remove", "path": "/a"}]}]}, "FT-SYN-305"),
        ({"patches": [{"merge": {"kind": "Deployment"}}]}, "FT-SYN-306"),
        ({"patches": [{"operations": [{"op": "remove", "path": "/a"}]}]}, "FT-SYN-306"),
        ({"patches": [{"target": TARGET, "operations": [{"op": "remove", "path": "a"}]}]}, "FT-SYN-301"),
        ({"patches": [{"target": TARGET, "operations": [{"op": "add", "path": "/a"}]}]}, "FT-SYN-307"),
        ({"patches": [{"target": TARGET, "operations": [{"op": "copy", "path": "/a"}]}]}, "FT-SYN-307"),
        (
            {"patches": [{"target": TARGET, "operations": [{"op": "remove", "path": "/a", "value": 1}]}]},
            "FT-SYN-308",
        ),
        ({"healthCheckExprs": [{"apiVersion": "example.com/v1", "current": "status.ready =="}]}, "FT-SYN-314"),
        ({"healthCheckExprs": [{"apiVersion": "example.com/v1", "current": ""}]}, "FT-SYN-314"),
        ({"images": [{"name": "app"}]}, "FT-SYN-309"),
        ({"images": [{"name": "app", "newTag": "1", "digest": DIGEST}]}, "FT-SYN-310"),
        ({"images": [{"name": "app", "digest": "1"}]}, "FT-SYN-302"),
        ({"namePrefix": "Blue_"}, "FT-SYN-303"),
        ({"components": ["/etc"]}, "FT-SYN-304"),
        ({"components": [""]}, "FT-SYN-304"),
        ({"postBuild": {}}, "FT-SYN-313"),
        ({"postBuild": {"substitute": {"my-region": "eu"}}}, "FT-SYN-300"),
        ({"ignore": [{"paths": ["spec"]}]}, "FT-SYN-301"),
        ({"healthChecks": [{"apiVersion": "v1", "kind": "Pod", "name": "a"}]}, "FT-SYN-311"),
        (
            {"wait": False, "healthCheckExprs": [{"apiVersion": "example.com/v1", "current": "true"}]},
            "FT-SYN-312",
        ),
    ],
)
def test_what_flux_would_refuse_or_ignore_is_an_error(options, code):
    with pytest.raises(ValidationError) as refused:
        Reconciliation.model_validate(options)

    # A list whose entries are invalid also counts as too short, which the loader leaves out.
    [error] = [each for each in refused.value.errors() if each["type"] != "too_short"]
    assert message_of(error["ctx"]["error"]).code == code


@pytest.mark.parametrize(
    "expression",
    [
        "status.conditions.exists(each, each.type == 'Ready' && each.status == 'True')",
        "status.?phase.orValue('') == 'Running'",
        "metadata.name.lowerAscii() == 'a'",
    ],
)
def test_an_expression_may_use_what_flux_adds_to_cel(expression):
    built(healthCheckExprs=[{"apiVersion": "example.com/v1", "current": expression}])


def test_an_expression_that_is_not_cel_is_told_where():
    with pytest.raises(ValidationError) as refused:
        built(healthCheckExprs=[{"apiVersion": "example.com/v1", "current": "status.ready && )"}])

    assert "(1:17: Syntax error: " in str(refused.value)
