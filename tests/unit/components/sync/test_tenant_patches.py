"""Patches of Kustomizations and HelmReleases, from data to what Flux takes."""

import pytest
import yaml
from pydantic import ValidationError

from flux_tenancy.components.config.messages import message_of
from flux_tenancy.components.sync.kustomization import Reconciliation, patches

TARGET = {"kind": "Deployment"}


def made(patch):
    [found] = patches(Reconciliation.model_validate({"patches": [patch]}).patches)
    return found


def test_a_merge_patch_with_a_target_needs_no_name_and_keeps_null():
    patch = made({"target": TARGET, "merge": {"spec": {"replicas": None}}})

    assert patch["target"] == TARGET
    assert yaml.safe_load(patch["patch"]) == {
        "apiVersion": "v1",
        "kind": "any",
        "metadata": {"name": "any"},
        "spec": {"replicas": None},
    }


def test_a_merge_patch_that_names_its_object_is_handed_over_unchanged():
    merge = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "app"}, "spec": {"replicas": 2}}

    patch = made({"merge": merge})

    assert patch.keys() == {"patch"}
    assert yaml.safe_load(patch["patch"]) == merge


def test_operations_are_a_json_patch_with_the_values_given():
    operations = [
        {"op": "add", "path": "/spec/template", "value": None},
        {"op": "move", "path": "/metadata/labels/a", "from": "/metadata/labels/b"},
        {"op": "remove", "path": "/spec/replicas"},
    ]

    patch = made({"target": {"name": "app"}, "operations": operations})

    assert yaml.safe_load(patch["patch"]) == operations


def test_a_patch_as_text_is_as_it_is():
    assert made({"patch": "- op: remove\n", "target": TARGET}) == {"patch": "- op: remove\n", "target": TARGET}


@pytest.mark.parametrize(
    "patch",
    [
        {"target": TARGET},
        {"target": TARGET, "merge": {}, "operations": [{"op": "remove", "path": "/a"}]},
        {"target": TARGET, "merge": {}, "patch": "{}"},
    ],
)
def test_a_patch_is_written_in_one_way(patch):
    with pytest.raises(ValidationError) as refused:
        made(patch)

    [error] = [each for each in refused.value.errors() if each["type"] != "too_short"]
    assert message_of(error["ctx"]["error"]).code == "FT-CFG-181"
