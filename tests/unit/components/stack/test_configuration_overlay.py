"""A stack's entry over a tenant's base: what is merged, what is replaced, and which file to look into."""

import pytest

from flux_tenancy.components.stack.files.tenant_files import overlay

BASE, STACK = "tenants/dev-team.yaml", "Pulumi.staging.yaml"


@pytest.mark.parametrize(
    ("base", "entry", "merged"),
    [
        ({"a": 1}, {}, {"a": 1}),
        ({}, {"a": 1}, {"a": 1}),
        ({"a": 1, "b": 2}, {"b": 3, "c": 4}, {"a": 1, "b": 3, "c": 4}),
        ({"a": {"b": {"c": 1, "d": 2}}}, {"a": {"b": {"d": 3}}}, {"a": {"b": {"c": 1, "d": 3}}}),
        ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": 1}}),
        ({"a": [1, 2, 3]}, {"a": [4]}, {"a": [4]}),
        ({"a": [1]}, {"a": []}, {"a": []}),
        ({"a": [{"b": 1, "c": 2}]}, {"a": [{"b": 3}]}, {"a": [{"b": 3}]}),
        ({"a": {"b": 1}}, {"a": None}, {"a": None}),
        ({"a": {"b": 1}}, {"a": "text"}, {"a": "text"}),
        ({"a": "text"}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ],
)
def test_mappings_are_merged_and_everything_else_is_replaced(base, entry, merged):
    assert overlay(base, BASE, entry, STACK).value == merged


def test_neither_file_is_changed_by_the_merge():
    base, entry = {"a": {"b": 1}}, {"a": {"c": 2}}

    overlay(base, BASE, entry, STACK)

    assert (base, entry) == ({"a": {"b": 1}}, {"a": {"c": 2}})


@pytest.mark.parametrize(
    ("path", "file"),
    [
        (("sync", "path"), STACK),
        (("sync", "interval"), BASE),
        (("source", "url"), BASE),
        # The base's second namespace is gone with the list that the stack replaced.
        (("namespaces", 0, "name"), STACK),
        (("namespaces", 1, "name"), STACK),
        # What neither says is looked for where its parent stands.
        (("source", "branch"), BASE),
        (("role",), None),
    ],
)
def test_every_value_knows_the_file_that_it_came_from(path, file):
    base = {
        "namespaces": [{"name": "a"}, {"name": "b"}],
        "source": {"url": "https://git"},
        "sync": {"path": ".", "interval": "1m"},
    }
    entry = {"namespaces": [{"name": "c"}], "sync": {"path": "./staging"}}

    assert overlay(base, BASE, entry, STACK).origin(path) == file
