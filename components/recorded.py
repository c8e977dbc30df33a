"""What earlier updates of this stack have left in its state, read before this one begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi.runtime.settings import get_root_resource


@dataclass(frozen=True)
class Recorded:
    """The resources of the stack's state.

    Attributes:
        resources: outputs by (type token, name); a component's type is its own, without those of its parents.
    """

    resources: Mapping[tuple[str, str], Mapping[str, Any]]

    def outputs(self, kind: str) -> list[Mapping[str, Any]]:
        """The outputs of all resources of a type."""
        return [outputs for (found, _), outputs in self.resources.items() if found == kind]

    def names(self, kind: str) -> set[str]:
        """The names of all resources of a type."""
        return {name for found, name in self.resources if found == kind}


async def read_recorded() -> Recorded:
    """The stack's own state.

    It is read from the resources and not from the stack's outputs, since an update that failed halfway records none.
    """
    # The engine has written what it knows once it answers for the stack itself; before, it may be writing just now.
    root = get_root_resource()
    assert root is not None  # Every program that the engine runs has one.
    await root.urn.future()
    stack = f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
    answer = await pulumi.runtime.invoke_async("pulumi:pulumi:readStackResourceOutputs", {"stackName": stack})
    resources: dict[str, dict[str, Any]] = answer["outputs"]
    return Recorded({(found["type"], urn.rpartition("::")[2]): found["outputs"] for urn, found in resources.items()})
