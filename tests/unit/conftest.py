"""What all unit tests have in common."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pulumi.runtime import resource
from pulumi.runtime.proto import source_pb2


@pytest.fixture(scope="session", autouse=True)
def _no_stack_traces() -> Iterator[None]:
    """The SDK tells the engine the stack at each registration, which is deep in a test: half the time of a render."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resource, "_get_stack_trace", source_pb2.StackTrace)
        yield
