"""Tests that need an earlier program fail where the clone does not have it, and say what to do."""

import pytest

from tests.support.earlier_program import EarlierProgram


def test_a_clone_without_the_commit_fails_with_a_remedy(tmp_path):
    with pytest.raises(AssertionError, match="fetch the whole history with `git fetch --unshallow`"):
        EarlierProgram(tmp_path / "checkout", "0" * 40)
