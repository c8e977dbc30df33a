"""The upstream releases that a change upgrades."""

from __future__ import annotations

import pytest

from flux_tenancy.components.stack.files.stack_file import StackFile
from flux_tenancy.review.changes.releases import Release, release_changes


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
