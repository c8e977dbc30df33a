"""Laws of the merge of a tenant's base and its entry in the stack, for data of any shape."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flux_tenancy.components.config.yaml_files import walk
from flux_tenancy.components.stack.files.tenant_files import overlay

BASE, STACK = "tenants/dev-team.yaml", "Pulumi.staging.yaml"

# Few keys and much nesting, so that both files often have the same.
KEYS = st.sampled_from("ab")
SCALARS = st.sampled_from([None, True, 0, 1, "", "text"])
LEAVES = SCALARS | st.lists(SCALARS | st.dictionaries(KEYS, SCALARS), max_size=2)
INNER = st.dictionaries(KEYS, LEAVES)
FILES = st.dictionaries(KEYS, LEAVES | INNER | st.dictionaries(KEYS, INNER | LEAVES, min_size=1))


def at(data: Any, path: tuple[Any, ...]) -> Any:
    """The value at a path; KeyError if there is none."""
    for key in path:
        if not isinstance(data, dict | list) or (isinstance(data, list) and key not in range(len(data))):
            raise KeyError(key)
        data = data[key]
    return data


def has(data: Any, path: tuple[Any, ...]) -> bool:
    try:
        at(data, path)
    except KeyError:
        return False
    return True


def are_mappings(*values: object) -> bool:
    return all(isinstance(each, dict) for each in values)


def merged(base: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    return overlay(base, BASE, entry, STACK).value


@given(FILES, FILES)
def test_every_value_of_the_entry_wins(base, entry):
    value = merged(base, entry)

    for path, wanted in walk(entry):
        found = at(value, path)
        # A mapping may have further keys of the base.
        assert set(wanted) <= set(found) if isinstance(wanted, dict) else found == wanted


@given(FILES, FILES)
def test_every_value_of_the_base_stays_unless_the_entry_replaces_it_or_what_it_is_in(base, entry):
    value = merged(base, entry)

    for path, wanted in walk(base):
        around = [path[:length] for length in range(1, len(path) + 1)]
        replaced = [each for each in around if has(entry, each) and not are_mappings(at(entry, each), at(base, each))]
        if not replaced:
            found = at(value, path)
            assert isinstance(found, dict) if isinstance(wanted, dict) else found == wanted


@given(FILES, FILES)
def test_nothing_comes_from_neither_file(base, entry):
    assert all(has(base, path) or has(entry, path) for path, _ in walk(merged(base, entry)))


@given(FILES, FILES)
def test_to_merge_again_changes_nothing_and_neither_file_is_changed(base, entry):
    before = deepcopy((base, entry))
    once = merged(base, entry)

    assert (base, entry) == before
    assert merged(once, entry) == once
    assert merged(base, once) == once
    assert merged({}, entry) == entry and merged(base, {}) == base


@given(FILES, FILES)
def test_the_origin_of_a_value_is_the_file_that_has_it(base, entry):
    tenant = overlay(base, BASE, entry, STACK)

    for path, value in walk(tenant.value):
        if path:
            file = {STACK: entry, BASE: base}[tenant.origin(path) or ""]
            assert isinstance(at(file, path), dict) if isinstance(value, dict) else at(file, path) == value
            # The entry's, if both have it: changing the other file would change nothing.
            assert has(entry, path) == (file is entry)
            # What neither file says is looked for where its parent stands.
            assert tenant.origin((*path, "missing")) == tenant.origin(path)


@given(FILES, FILES)
def test_what_the_entry_has_replaced_is_looked_for_in_the_file_that_has_its_parent(base, entry):
    tenant = overlay(base, BASE, entry, STACK)

    for path, _ in walk(base):
        there = [path[:length] for length in range(1, len(path) + 1) if has(tenant.value, path[:length])]
        if there:
            assert tenant.origin(path) == tenant.origin(there[-1])
    assert tenant.origin(("missing", "key")) is None
