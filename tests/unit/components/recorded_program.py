"""Pulumi programs run against a monitor that writes down what they register, so that tests assert afterwards.

An assertion inside an `apply` that nobody awaits passes silently; here nothing is asserted before the program ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import pulumi
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Value
from pulumi.runtime import rpc
from pulumi.runtime.mocks import MockCallArgs, MockMonitor, MockResourceArgs, Mocks, set_mocks
from pulumi.runtime.settings import get_root_resource

from flux_tenancy.components.cluster.client import collection_of
from flux_tenancy.components.cluster.component import READABLE
from flux_tenancy.components.policies.native_only import MUTATING
from flux_tenancy.components.stack.platform_objects import MONITORING_READABLE, REQUESTS_READABLE

PROJECT, STACK = "flux-tenancy", "staging"
GENERATED = "0f1e2d3c"
"""How each name ends that is generated."""
# Marks a secret in what goes over the wire.
# Source: https://www.pulumi.com/docs/iac/concepts/secrets/, sdk/python/lib/pulumi/runtime/rpc.py
_SIGNATURE = "4dabf18193072939515e22adb298388d"

Answer = Mapping[str, Any] | Callable[[Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True)
class Registration:
    """One resource as the engine is asked for it.

    Resources are called by kind and name, e.g. `Namespace apps`.

    Attributes:
        type: type token.
        parent: the resource it belongs to.
        after: the resources that must stand before.
        provider: the provider that is asked for it; empty where the engine is to choose.
        properties: its inputs; a secret is `{"secret": value}`.
        delete_timeout: how long its deletion may take; empty for the provider's own default.
        ignored: the properties whose changes are left alone once it is created.
        imported: id of what is there already and is taken over; empty where it is created.
        on_error: what the engine asks where an operation fails.
        replaced: the properties for whose changes it is replaced.
        hooks: by step, e.g. `before_create`, the names of what the engine runs, in order.
        protected: whether the engine refuses to delete it.
        aliases: the URNs that it had before.
        retained: whether the engine only takes it out of the state when it is deleted.
    """

    type: str
    parent: str
    after: set[str]
    provider: str
    properties: Mapping[str, Any]
    delete_timeout: str
    ignored: set[str] = field(default_factory=set)
    imported: str = ""
    on_error: set[str] = field(default_factory=set)
    replaced: set[str] = field(default_factory=set)
    hooks: Mapping[str, list[str]] = field(default_factory=dict)
    protected: bool = False
    aliases: set[str] = field(default_factory=set)
    retained: bool = False


class _Engine(Mocks):
    def __init__(self, calls: Mapping[str, Answer]) -> None:
        self._calls = calls

    def new_resource(self, args: MockResourceArgs) -> tuple[str, dict[str, Any]]:
        metadata = args.inputs.get("metadata")
        if isinstance(metadata, dict) and "name" not in metadata:
            # As the provider does: what has no name is given one.
            return f"{args.name}-id", args.inputs | {"metadata": metadata | {"name": f"{args.name}-{GENERATED}"}}
        return f"{args.name}-id", args.inputs

    def call(self, args: MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        answer = self._calls[args.token]
        return dict(answer(args.args) if callable(answer) else answer), []


class _Recorder(MockMonitor):
    def __init__(self, mocks: Mocks, state: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__(mocks)
        self._state = state
        self.registrations: dict[str, Registration] = {}

    def RegisterResource(self, request: Any) -> Any:
        response = super().RegisterResource(request)
        if request.type != "pulumi:pulumi:Stack":
            name = _called(response.urn)
            # As the engine does: what is ignored stays as it is in the state, and what went in as a secret stays one.
            for key, value in self._state.get(name, {}).items():
                if key in request.ignoreChanges:
                    json_format.ParseDict(value, response.object.fields[key])
                for field in (path.removeprefix(f"{key}.") for path in request.ignoreChanges if f"{key}." in path):
                    json_format.ParseDict(value[field], response.object.fields[key].struct_value.fields[field])
            for key, value in request.object.fields.items():
                # As the engine does: what is not known beforehand is not known to the preview afterwards, either.
                if rpc.UNKNOWN in json_format.MessageToJson(value):
                    response.object.fields[key].CopyFrom(value)
                elif _SIGNATURE in value.struct_value.fields and key in response.object.fields:
                    secret = Value()
                    secret.CopyFrom(value)
                    secret.struct_value.fields["value"].CopyFrom(response.object.fields[key])
                    response.object.fields[key].CopyFrom(secret)
            self.registrations[name] = Registration(
                type=request.type,
                parent=_called(request.parent),
                after=set(map(_called, request.dependencies)),
                provider=_called(request.provider.rpartition("::")[0]),
                properties=_readable(json_format.MessageToDict(request.object)),
                delete_timeout=request.customTimeouts.delete,
                ignored=set(request.ignoreChanges),
                imported=request.importId,
                on_error=set(request.hooks.on_error),
                replaced=set(request.replaceOnChanges),
                hooks={
                    step.name: list(names)
                    for step, names in request.hooks.ListFields()
                    if step.name != "on_error" and names
                },
                protected=request.protect,
                aliases={each.urn for each in request.aliases},
                retained=request.retainOnDelete,
            )
        return response


def run(
    program: Callable[[], Any],
    *,
    preview: bool = False,
    calls: Mapping[str, Answer] | None = None,
    state: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Registration]:
    """Run a program to its end and give what it registered.

    Args:
        program: what `pulumi.run` would get; what it returns is awaited.
        preview: whether it runs as a preview.
        calls: answers to invokes, by token, or what makes them of the arguments.
        state: properties by resource, as earlier updates have left them.
    """
    # The SDK takes the thread's loop, which `asyncio.run` in an earlier test leaves it without.
    try:
        asyncio.get_event_loop_policy().get_event_loop()
    except RuntimeError:
        asyncio.set_event_loop(asyncio.new_event_loop())
    engine = _Engine(calls or {})
    recorder = _Recorder(engine, state or {})
    set_mocks(engine, project=PROJECT, stack=STACK, preview=preview, organization="organization", monitor=recorder)
    # The stack is the same for all programs of a process; what one of them asked of it is nothing to the next.
    if (stack := get_root_resource()) is not None:
        stack._transformations = []
    hooks = "pulumi.resource_hooks.register_"
    with mock.patch(f"{hooks}resource_hook", _known), mock.patch(f"{hooks}error_hook", _known):
        pulumi.runtime.test(program)()
    unreadable = {each.type for each in recorder.registrations.values() if not readable_by_previewers(each.type)}
    assert not unreadable, f"READABLE of components/cluster/component.py lacks these: {sorted(unreadable)}"
    return recorder.registrations


def readable_by_previewers(type_: str) -> bool:
    """Whether previewers may list a type of resource; nobody but the program reads Secrets."""
    path = collection_of(type_)
    if path is None or path == "/api/v1/secrets":
        return True
    root, _, resource = path.rpartition("/")
    group = "" if root == "/api/v1" else root.split("/")[2]
    return resource in (*dict([*READABLE, *MONITORING_READABLE, *REQUESTS_READABLE]).get(group, ()), *MUTATING)


def _known(_: pulumi.ResourceHook | pulumi.ErrorHook) -> asyncio.Future[None]:
    """What the SDK has once the engine knows a hook."""
    known: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    known.set_result(None)
    return known


def _called(urn: str) -> str:
    if not urn:
        return ""
    _, types, name = urn.rsplit("::", 2)
    return f"{types.rpartition(':')[2]} {name}"


def _readable(value: Any) -> Any:
    if isinstance(value, dict) and _SIGNATURE in value:
        return {"secret": _readable(value["value"])}
    if isinstance(value, dict):
        return {key: _readable(part) for key, part in value.items()}
    return [_readable(part) for part in value] if isinstance(value, list) else value
