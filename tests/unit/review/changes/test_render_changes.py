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
    after = render_of(kubernetes("Role", "b", "apps", spec=True), kubernetes("Role", "c", "apps"))

    found = changes(before, after)

    assert [(each.action, each.object.name) for each in found] == [
        (Action.REMOVED, "a"),
        (Action.CHANGED, "b"),
        (Action.ADDED, "c"),
    ]
    # Of equal values, the type may differ.
    assert [(each.name, each.before, each.after) for each in found[1].fields] == [("spec", 1, True)]
    assert found[1].object.manifest["spec"] is True
    assert changes(before, before) == ()
    assert {each.action for each in changes(None, before)} == {Action.ADDED}
    assert {each.action for each in changes(before, None)} == {Action.REMOVED}


def test_the_protection_of_an_object_is_one_of_its_fields():
    role = kubernetes("Role", "a")

    [change] = changes(render_of(role), render_of(replace(role, protected=True)))

    assert [(each.name, each.before, each.after) for each in change.fields] == [("protect", False, True)]


@pytest.mark.parametrize(("before", "after"), [(True, 1), (1, "1"), (None, ABSENT), ([], {}), (1, 1.5)])
def test_values_of_different_types_differ(before, after):
    given = {} if after is ABSENT else {"a": after}

    assert fields({"a": before}, given) == [("spec.a", before, after)]


MANAGER = {"name": "manager", "image": "a:1"}
PROXY, INIT = {"name": "proxy", "image": "p"}, {"name": "init", "image": "i"}
USER, GROUP, ACCOUNT = ({"name": "a", "kind": kind} for kind in ("User", "Group", "ServiceAccount"))


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        pytest.param({"a": 1}, {"b": 2}, [("spec.a", 1, ABSENT), ("spec.b", ABSENT, 2)], id="of one object only"),
        pytest.param(
            [MANAGER, PROXY],
            [INIT, MANAGER | {"image": "a:2"}],
            [("spec[manager].image", "a:1", "a:2"), ("spec[proxy]", PROXY, ABSENT), ("spec[init]", ABSENT, INIT)],
            id="items by their names",
        ),
        pytest.param(
            [MANAGER, INIT], [INIT, MANAGER], [("spec[order]", ["manager", "init"], ["init", "manager"])], id="order"
        ),
        pytest.param([USER, GROUP], [USER, ACCOUNT], [("spec[1].kind", "Group", "ServiceAccount")], id="equal names"),
        pytest.param(["a", "c"], ["a", "b", "c"], [("spec[1]", ABSENT, "b")], id="an inserted item"),
        pytest.param(["a", "b", "c"], ["a", "c"], [("spec[1]", "b", ABSENT)], id="a deleted item"),
        pytest.param({"a.b/c": 1}, {"a.b/c": 2}, [('spec["a.b/c"]', 1, 2)], id="a key that needs quotes"),
    ],
)
def test_fields_and_items_that_differ_are_told_by_their_path(before, after, found):
    assert fields(before, after) == found


def test_a_list_in_another_order_is_a_change_and_a_long_one_is_compared_item_by_item():
    before = [str(number) for number in range(150)]

    assert fields(["a", "b"], ["b", "a"]) != []
    assert len(fields(before, ["first", *before])) == 151


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
    assert release_changes(file(), file()) == ()
    kyverno = only(file(section="kyverno"), file("1.19.1", section="kyverno"))
    assert kyverno.changelog == "https://github.com/kyverno/kyverno/releases/tag/v1.19.1"


@pytest.mark.parametrize(
    ("before", "after", "is_downgrade"),
    [("2.9.5", "2.9.4", True), ("2.10.0", "2.9.5", True), ("v2.9.4", "2.9.5", False)],
)
def test_an_older_version_is_a_downgrade(before, after, is_downgrade):
    change = only(file(before), file(after))

    assert change.is_downgrade is is_downgrade
    assert bool(change.commits) is not is_downgrade


def test_the_same_version_with_another_digest_has_been_replaced_and_a_removed_release_has_no_changelog():
    replaced, removed = only(file(), file(sha256="b")), only(file(), file(""))

    assert replaced.is_replaced
    assert (replaced.changelog, replaced.commits) == ("", "")
    assert (removed.after, removed.changelog) == (None, "")


def test_a_release_that_all_stacks_share_counts_unless_the_stack_has_its_own():
    shared = ((("flux",), {"version": "2.9.4", "sha256": "a"}),)
    own = StackFile("Pulumi.staging.yaml", {}, shared=shared)
    other = ((("flux", "version"), "2.9.3"), (("flux", "sha256"), "b"))

    assert release_changes(own, file("2.9.4")) == ()
    assert only(own, file("2.9.5")).before == Release("2.9.4", "a")
    assert release_changes(file("2.9.4", shared=other), file("2.9.4")) == ()
