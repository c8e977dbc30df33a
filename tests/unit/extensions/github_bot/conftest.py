"""A code host for the commands of CI."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fake_github import FakeGitHub, github


@pytest.fixture
def host(monkeypatch) -> Iterator[FakeGitHub]:
    """A host without pull requests, to which the variables of a workflow lead."""
    with github() as fake:
        for name, value in fake.environ.items():
            monkeypatch.setenv(name, value)
        yield fake
