"""Reading FieldsV1, and the paths that people and JSON Patch use for its fields."""

from __future__ import annotations

import pytest

from flux_tenancy.operations.drift.managed_fields import (
    MISSING,
    denormalized,
    managers,
    normalized,
    pointer,
    remove,
    shown,
    value_at,
)

POD = {
    "metadata": {"labels": {"app.kubernetes.io/name": "web"}},
    "spec": {
        "containers": [
            {"name": "a", "ports": [{"containerPort": 80, "protocol": "TCP"}]},
            {"name": "b", "args": ["x"]},
        ],
        "actions": ["Deny", "Audit"],
        "nothing": None,
    },
}
PORT = ("f:spec", "f:containers", 'k:{"name":"a"}', "f:ports", 'k:{"containerPort":80,"protocol":"TCP"}')
LABEL = ("f:metadata", "f:labels", "f:app.kubernetes.io/name")
AUDIT = ("f:spec", "f:actions", 'v:"Audit"')
SECOND = ("f:spec", "f:containers", "i:1", "f:args")


@pytest.mark.parametrize(
    ("path", "value", "text", "at"),
    [
        (
            PORT,
            {"containerPort": 80, "protocol": "TCP"},
            "spec.containers[a].ports[80,TCP]",
            "/spec/containers/0/ports/0",
        ),
        (LABEL, "web", 'metadata.labels["app.kubernetes.io/name"]', "/metadata/labels/app.kubernetes.io~1name"),
        (AUDIT, "Audit", "spec.actions[Audit]", "/spec/actions/1"),
        (SECOND, ["x"], "spec.containers[1].args", "/spec/containers/1/args"),
    ],
)
def test_a_path_leads_to_its_value_and_is_shown_and_patched(path, value, text, at):
    assert value_at(POD, path) == value
    assert shown(path) == text
    assert pointer(POD, path) == at


@pytest.mark.parametrize(
    "path",
    [
        ("f:spec", "f:nothing"),
        ("f:spec", "f:other"),
        ("f:spec", "f:containers", 'k:{"name":"c"}'),
        ("f:spec", "f:containers", "i:2"),
        ("f:spec", "f:actions", 'v:"Warn"'),
        ("f:spec", "f:actions", "f:name"),
        ("f:metadata", "k:{}"),
    ],
)
def test_what_an_object_does_not_have_is_missing(path):
    assert value_at(POD, path) is MISSING


def test_only_the_innermost_fields_are_listed_and_a_part_that_is_owned_as_a_whole_counts_as_one():
    entry = {
        "manager": "x",
        "time": "t",
        "fieldsV1": {"f:a": {".": {}, "f:b": {}}, "f:c": {".": {}}},
    }

    (manager,) = managers({"metadata": {"managedFields": [entry]}})

    assert manager.fields == {("f:a", "f:b"), ("f:c",)}
    assert manager.owns(("f:a",)) and manager.owns(("f:c", "f:d")) and not manager.owns(("f:e",))


def test_an_entry_may_lack_what_the_api_server_does_not_check():
    (manager,) = managers({"metadata": {"managedFields": [{"operation": "Update", "time": None}]}})

    assert (manager.name, manager.time, manager.fields) == ("", "", frozenset())


def test_a_removed_item_moves_those_behind_it():
    value = {"l": ["a", "b", "c"]}
    remove(value, ("f:l", 'v:"a"'))

    assert value == {"l": ["b", "c"]}
    assert pointer(value, ("f:l", 'v:"c"')) == "/l/1"


def test_null_is_left_out_of_a_normalized_value():
    assert normalized({"a": None, "b": [{"x-kubernetes-map-type": "atomic"}]}) == {
        "b": [{"x_kubernetes_map_type": "atomic"}]
    }


def test_a_schema_of_the_state_is_applied_under_the_names_of_the_api_server():
    assert denormalized({"a": [{"x_kubernetes_map_type": "atomic"}], "b_c": None}) == {
        "a": [{"x-kubernetes-map-type": "atomic"}],
        "b_c": None,
    }
