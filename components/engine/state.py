"""What earlier updates of this stack have left in its state, read before this one begins.

This is the only place that reads the state. What has to outlive a run is kept by the resource that it belongs to: the
cluster's identity by `Cluster`, the token of a webhook and the name of an artifact server by the object that has it
(`components.engine.update_plans`). But whether an object in the cluster is this stack's own has to be known of all of
them before the first is registered, since nothing is applied where one is another's. No documented means tells that:

- A `Stash` is read by registering it, so that a refused run would leave one behind, with the wrong cluster in it.
- A stack's outputs are those of the last update that ended well, and say nothing of what one that failed has created.
- `pulumi stack export` is another process, which has to find the same command, backend and credentials again.

The function of the engine that answers is part of no SDK. tests/engine/test_state_contract.py holds what is relied on:
it is there; it answers with every resource, also those of an update that failed, and not with those that are gone; a
resource has its own type without its parents'; secrets are in clear.

Source: readStackResourceOutputs in pkg/resource/deploy/builtins.go of Pulumi
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

_READ = "pulumi:pulumi:readStackResourceOutputs"


@dataclass(frozen=True)
class State:
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


async def read_state() -> State:
    """The stack's own state.

    It is read from the resources and not from the stack's outputs, since an update that failed halfway records none.
    """
    # The engine has written what it knows once it answers for the stack itself; before, it may be writing just now.
    root = pulumi.runtime.get_root_resource()
    assert root is not None  # Every program that the engine runs has one.
    await root.urn.future()
    stack = f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
    answer = await pulumi.runtime.invoke_async(_READ, {"stackName": stack})
    resources: dict[str, dict[str, Any]] = answer["outputs"]
    return State({(found["type"], urn.rpartition("::")[2]): found["outputs"] for urn, found in resources.items()})
