"""Pulumi programs run against a monitor that writes down what they register, so that tests assert afterwards.

An assertion inside an `apply` that nobody awaits passes silently; here nothing is asserted before the program ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from google.protobuf.json_format import MessageToDict
from pulumi.runtime.mocks import MockCallArgs, MockMonitor, MockResourceArgs, Mocks, set_mocks

PROJECT, STACK = "flux-tenancy", "staging"
# Marks a secret in what goes over the wire.
# Source: https://www.pulumi.com/docs/iac/concepts/secrets/, sdk/python/lib/pulumi/runtime/rpc.py
_SIGNATURE = "4dabf18193072939515e22adb298388d"


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
    """

    type: str
    parent: str
    after: set[str]
    provider: str
    properties: Mapping[str, Any]
    delete_timeout: str


class _Engine(Mocks):
    def __init__(self, calls: Mapping[str, Mapping[str, Any]]) -> None:
        self._calls = calls

    def new_resource(self, args: MockResourceArgs) -> tuple[str, dict[str, Any]]:
        return f"{args.name}-id", args.inputs

    def call(self, args: MockCallArgs) -> dict[str, Any]:
        return dict(self._calls[args.token])


class _Recorder(MockMonitor):
    def __init__(self, mocks: Mocks) -> None:
        super().__init__(mocks)
        self.registrations: dict[str, Registration] = {}

    def RegisterResource(self, request: Any) -> Any:
        response = super().RegisterResource(request)
        if request.type != "pulumi:pulumi:Stack":
            self.registrations[_called(response.urn)] = Registration(
                type=request.type,
                parent=_called(request.parent),
                after=set(map(_called, request.dependencies)),
                provider=_called(request.provider.rpartition("::")[0]),
                properties=_readable(MessageToDict(request.object)),
                delete_timeout=request.customTimeouts.delete,
            )
        return response


def run(
    program: Callable[[], Any], *, preview: bool = False, calls: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Registration]:
    """Run a program to its end and give what it registered.

    Args:
        program: what `pulumi.run` would get; what it returns is awaited.
        preview: whether it runs as a preview.
        calls: answers to invokes, by token.
    """
    engine = _Engine(calls or {})
    recorder = _Recorder(engine)
    set_mocks(engine, project=PROJECT, stack=STACK, preview=preview, organization="organization", monitor=recorder)
    pulumi.runtime.test(program)()
    return recorder.registrations


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
