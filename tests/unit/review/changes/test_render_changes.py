"""The objects and fields that differ between two renders."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample_objects import kubernetes, render_of

from flux_tenancy.components.stack.files.stack_file import StackFile
from flux_tenancy.review.changes.keys import Release, release_changes
from flux_tenancy.review.changes.objects import ABSENT, Action, changes, field_changes


def fields(before, after):
    return [(each.name, each.before, each.after) for each in field_changes({"spec": before}, {"spec": after})]


def test_objects_are_added_changed_and_removed():
    before = render_of(kubernetes("Role", "a", "apps"), kubernetes("Role", "b", "apps", spec=1))
    after = render_of(kubernetes("Role", "b", "apps", spec=2), kubernetes("Role", "c", "apps"))

    found = changes(before, after)

    assert [(each.action, each.object.name) for each in found] == [
        (Action.REMOVED, "a"),
        (Action.CHANGED, "b"),
        (Action.ADDED, "c"),
    ]
    assert [(each.name, each.before, each.after) for each in found[1].fields] == [("spec", 1, 2)]
    assert found[1].object.manifest["spec"] == 2


def test_equal_renders_have_no_changes():
    assert changes(render_of(kubernetes("Role", "a")), render_of(kubernetes("Role", "a"))) == ()


def test_the_protection_of_an_object_is_one_of_its_fields():
    role = kubernetes("Role", "a")

    [change] = changes(render_of(role), render_of(replace(role, protected=True)))

    assert [(each.name, each.before, each.after) for each in change.fields] == [("protect", False, True)]


def test_everything_of_a_new_stack_is_added():
    assert [each.action for each in changes(None, render_of(kubernetes("Role", "a")))] == [Action.ADDED]


def test_everything_of_a_stack_that_is_gone_is_removed():
    assert [each.action for each in changes(render_of(kubernetes("Role", "a")), None)] == [Action.REMOVED]


def test_fields_that_only_one_object_has_are_absent_from_the_other():
    assert fields({"a": 1}, {"b": 2}) == [("spec.a", 1, ABSENT), ("spec.b", ABSENT, 2)]


@pytest.mark.parametrize(("before", "after"), [(True, 1), (1, "1"), (None, ABSENT), ([], {}), (1, 1.5)])
def test_values_of_different_types_differ(before, after):
    given = {} if after is ABSENT else {"a": after}

    assert fields({"a": before}, given) == [("spec.a", before, after)]


def test_an_object_that_only_differs_in_the_type_of_a_value_is_changed():
    [change] = changes(render_of(kubernetes("Role", "a", spec=1)), render_of(kubernetes("Role", "a", spec=True)))

    assert [(each.before, each.after) for each in change.fields] == [(1, True)]


def test_items_with_names_are_compared_by_name():
    before = [{"name": "manager", "image": "a:1"}, {"name": "proxy", "image": "p"}]
    after = [{"name": "init", "image": "i"}, {"name": "manager", "image": "a:2"}]

    assert fields(before, after) == [
        ("spec[manager].image", "a:1", "a:2"),
        ("spec[proxy]", {"name": "proxy", "image": "p"}, ABSENT),
        ("spec[init]", ABSENT, {"name": "init", "image": "i"}),
    ]


def test_items_with_names_in_another_order_are_a_change():
    assert fields([{"name": "a"}, {"name": "b"}], [{"name": "b"}, {"name": "a"}]) == [
        ("spec[order]", ["a", "b"], ["b", "a"])
    ]


def test_items_with_the_same_name_are_compared_in_order():
    before = [{"name": "a", "kind": "User"}, {"name": "a", "kind": "Group"}]
    after = [{"name": "a", "kind": "User"}, {"name": "a", "kind": "ServiceAccount"}]

    assert fields(before, after) == [("spec[1].kind", "Group", "ServiceAccount")]


def test_an_inserted_item_is_the_only_change_of_a_list():
    assert fields(["a", "c"], ["a", "b", "c"]) == [("spec[1]", ABSENT, "b")]


def test_a_deleted_item_is_the_only_change_of_a_list():
    assert fields(["a", "b", "c"], ["a", "c"]) == [("spec[1]", "b", ABSENT)]


def test_a_list_in_another_order_is_a_change():
    assert fields(["a", "b"], ["b", "a"]) != []


def test_long_lists_are_compared_item_by_item():
    before = [str(number) for number in range(150)]

    assert len(fields(before, ["first", *before])) == 151


def test_keys_with_special_characters_are_quoted_in_paths():
    assert fields({"a.b/c": 1}, {"a.b/c": 2}) == [('spec["a.b/c"]', 1, 2)]


def file(version="2.9.4", sha256="a", section="flux", shared=None):
    sections = {section: {"version": version, "sha256": sha256}} if version else {}
    return StackFile("Pulumi.staging.yaml", sections, shared=shared or ())


def only(before, after):
    [change] = release_changes(before, after)
    return change


def test_an_upgrade_has_both_releases_and_the_address_of_the_changelog():
    change = only(file(), file("2.9.5", "b"))

    assert (change.title, change.before, change.after) == ("Flux", Release("2.9.4", "a"), Release("2.9.5", "b"))
    assert change.changelog == "https://github.com/fluxcd/flux2/releases/tag/v2.9.5"
    assert change.commits == "https://github.com/fluxcd/flux2/compare/v2.9.4...v2.9.5"
    assert not change.is_downgrade and not change.is_replaced


def test_kyverno_has_its_own_changelog():
    change = only(file(section="kyverno"), file("1.19.1", section="kyverno"))

    assert change.changelog == "https://github.com/kyverno/kyverno/releases/tag/v1.19.1"


def test_the_same_release_is_no_change():
    assert release_changes(file(), file()) == ()


@pytest.mark.parametrize(("before", "after"), [("2.9.5", "2.9.4"), ("2.10.0", "2.9.5")])
def test_an_older_version_is_a_downgrade(before, after):
    change = only(file(before), file(after))

    assert change.is_downgrade
    assert change.commits == ""


def test_versions_are_compared_by_their_numbers_with_and_without_a_v():
    assert not only(file("v2.9.4"), file("2.9.5")).is_downgrade


def test_the_same_version_with_another_digest_has_been_replaced():
    change = only(file(), file(sha256="b"))

    assert change.is_replaced
    assert (change.changelog, change.commits) == ("", "")


def test_a_release_that_is_removed_has_no_changelog():
    change = only(file(), file(""))

    assert (change.after, change.changelog) == (None, "")


def test_a_release_that_all_stacks_share_counts():
    shared = ((("flux",), {"version": "2.9.4", "sha256": "a"}),)

    own = StackFile("Pulumi.staging.yaml", {}, shared=shared)
    assert release_changes(own, file("2.9.4")) == ()
    assert only(own, file("2.9.5")).before == Release("2.9.4", "a")


def test_a_value_of_the_stack_wins_over_the_shared_one():
    shared = ((("flux", "version"), "2.9.3"), (("flux", "sha256"), "b"))

    assert release_changes(file("2.9.4", shared=shared), file("2.9.4")) == ()
