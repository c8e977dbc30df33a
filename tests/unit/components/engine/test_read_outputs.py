"""Of an object's outputs, only what the program reads is translated."""

from __future__ import annotations

from functools import partial
from typing import Any

import pulumi
import pytest
from google.protobuf import struct_pb2
from pulumi.runtime import rpc
from pulumi.runtime.mocks import MockMonitor
from recorded_program import run

from flux_tenancy.components.engine.outputs import leave_out_outputs

OBJECT = {
    "kind": "Secret",
    "metadata": {"name": "one-0f1e2d3c", "managedFields": [{"manager": "pulumi"}]},
    "data": {"token": "YQ=="},
    "status": {"phase": "Active"},
}


class Typed(pulumi.CustomResource):
    """A class of another package."""


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The outputs of a program's resources; its monitor answers with the object."""
    monkeypatch.setattr(rpc, "resolve_outputs", rpc.resolve_outputs)
    register = MockMonitor.RegisterResource

    def register_and_answer(monitor: MockMonitor, request: Any) -> Any:
        answer = register(monitor, request)
        if request.custom:
            answer.object.CopyFrom(struct_pb2.Struct())
            answer.object.update(OBJECT)
        return answer

    monkeypatch.setattr(MockMonitor, "RegisterResource", register_and_answer)
    seen: dict[str, Any] = {}

    def program() -> None:
        leave_out_outputs()
        inputs = {"kind": "Secret", "metadata": {"name": "one"}, "data": {"token": "YQ=="}, "status": None}
        for name, made in {"object": pulumi.CustomResource, "typed": Typed}.items():
            resource = made("kubernetes:core/v1:Secret", name, inputs, None)
            outputs = pulumi.Output.all(**{key: getattr(resource, key) for key in OBJECT})
            outputs.apply(partial(seen.__setitem__, name))

    run(program)
    return seen


def test_metadata_and_data_of_an_object_are_read_without_managed_fields(registered):
    found = registered["object"]

    assert found["metadata"] == {"name": "one-0f1e2d3c"}
    assert found["data"] == {"token": "YQ=="}
    assert (found["kind"], found["status"]) == (None, None)


def test_a_resource_with_a_class_of_its_own_keeps_all_outputs(registered):
    assert registered["typed"] == OBJECT
