"""The files and folders of the lab's state."""

from __future__ import annotations

from dev.lab.files import make_folder


def test_only_the_user_can_enter_a_new_folder_and_those_that_it_is_in(tmp_path):
    """`make bundles` creates the state from below, before anything else does."""
    deepest = make_folder(tmp_path / "state" / "flux" / "v2")

    assert {each.stat().st_mode & 0o777 for each in (deepest, deepest.parent, deepest.parents[1])} == {0o700}
