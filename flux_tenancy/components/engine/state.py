"""The stack's state after earlier updates, read before this update starts.

This is the only module that reads the state. A value that has to outlive a run is kept by the resource that it belongs
to: the cluster's identity by `Cluster`, the token of a webhook and the name of an artifact server by their objects
(`components.engine.update_plans`). But before it registers the first object, the program has to know which objects
belong to this stack, since it applies nothing if one of them belongs to somebody else. No documented API tells this:

- A `Stash` is read by registering it, so a refused run would leave one behind, with the wrong cluster in it.
- A stack's outputs are those of the last successful update, and do not show what a failed one has created.
- `pulumi stack export` is another process, which would have to find the same command, backend and credentials.

The engine's function that is used instead is not part of any SDK. tests/engine/test_state_contract.py tests the
assumptions: the function exists; it returns every resource, including those of a failed update but not deleted ones; a
resource has its own type without its parents'; secrets are in plain text.

Source: readStackResourceOutputs in pkg/resource/deploy/builtins.go of Pulumi
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pulumi
from google.protobuf import struct_pb2
from pulumi.runtime import rpc
from pulumi.runtime.proto import resource_pb2

from flux_tenancy.components.config.errors import present
from flux_tenancy.components.engine.pulumi_command import makes_plan

T = TypeVar("T")


def made_once(make: Callable[[], str]) -> pulumi.Output[str]:
    """A random value for an input whose changes are ignored (`ignore_changes`).

    The resource keeps the value that it was created with, which is in the state. Later runs do not change it.

    Args:
        make: returns a value; it is not called in a preview.
    """
    return _unknown() if pulumi.runtime.is_dry_run() else pulumi.Output.from_input(make())


def unplanned(observed: pulumi.Output[T]) -> pulumi.Output[T]:
    """A value read from the cluster: unknown in a preview whose plan is saved, current in any other preview."""
    return _unknown() if pulumi.runtime.is_dry_run() and makes_plan() else observed


def _unknown() -> pulumi.Output[Any]:
    return pulumi.Output.from_input(pulumi.UNKNOWN)


_READ = "pulumi:pulumi:readStackResourceOutputs"


@dataclass(frozen=True)
class State:
    """The resources of the stack's state.

    Attributes:
        resources: outputs by (type token, name); a component's type is its own, without those of its parents.
        urns: URNs by the same.
    """

    resources: Mapping[tuple[str, str], Mapping[str, Any]]
    urns: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def outputs(self, kind: str) -> list[Mapping[str, Any]]:
        """The outputs of all resources of a type."""
        return [outputs for (found, _), outputs in self.resources.items() if found == kind]

    def names(self, kind: str) -> set[str]:
        """The names of all resources of a type."""
        return {name for found, name in self.resources if found == kind}


async def read_state() -> State:
    """The stack's own state.

    It is read from the resources and not from the stack's outputs, since a failed update records no outputs.
    """
    # The engine answers for the stack's root resource after it has written the state; until then, it may be incomplete.
    root = present(pulumi.runtime.get_root_resource(), "the engine runs the program")
    await root.urn.future()
    stack = f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
    resources = (await _ask_engine(_READ, stackName=stack))["outputs"]
    urns = {(resources[urn]["type"], urn.rpartition("::")[2]): urn for urn in resources}
    return State({each: resources[urn]["outputs"] for each, urn in urns.items()}, urns)


async def _ask_engine(function: str, **arguments: str) -> Mapping[str, Any]:
    """The result of a function. The SDK's `invoke` would translate a whole state, of which the program reads little."""
    monitor = present(pulumi.runtime.settings.get_monitor(), "the engine has answered for the stack's root resource")
    request = resource_pb2.ResourceInvokeRequest(tok=function)
    request.args.update(arguments)
    answer = await asyncio.get_running_loop().run_in_executor(None, monitor.Invoke, request)
    return _Properties(getattr(answer, "return"))


class _Properties(Mapping[str, Any]):
    """Properties as the engine has sent them, translated when they are read; secrets are in plain text."""

    def __init__(self, sent: struct_pb2.Struct) -> None:
        self._sent = sent

    def __getitem__(self, key: str) -> Any:
        if key not in self._sent:
            raise KeyError(key)
        value = self._sent[key]
        if isinstance(value, struct_pb2.Struct) and not rpc._is_rpc_struct_secret(value):
            return _Properties(value)
        return rpc.unwrap_rpc_secret(rpc.deserialize_property(value))

    def __iter__(self) -> Iterator[str]:
        return iter(self._sent)

    def __len__(self) -> int:
        return len(self._sent)
