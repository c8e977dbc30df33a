"""Resources are registered without stack traces, which would be in the state, and without the SDK's debug messages."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest
from pulumi.runtime import resource as sdk
from pulumi.runtime import rpc_manager
from pulumi.runtime.mocks import MockEngine, MockMonitor
from pulumi.runtime.proto import engine_pb2, source_pb2
from recorded_program import run

from flux_tenancy.components.engine.log import leave_out_debugging

POSITION = source_pb2.SourcePosition(uri="file:///project/program.py", line=1)


@pytest.mark.parametrize("left_out", [False, True])
def test_what_only_helps_to_debug_the_sdk_is_left_out(monkeypatch: pytest.MonkeyPatch, left_out: bool) -> None:
    # As the SDK does, whose function unit tests have replaced already.
    trace = source_pb2.StackTrace(frames=[source_pb2.StackFrame(pc=POSITION)])
    monkeypatch.setattr(sdk, "_get_stack_trace", lambda: trace)
    monkeypatch.setattr(sdk, "log", pulumi.log)
    monkeypatch.setattr(rpc_manager, "log", pulumi.log)
    register, requests, logged = MockMonitor.RegisterResource, list[Any](), list[Any]()

    def register_and_note(monitor: MockMonitor, request: Any) -> Any:
        requests.append(request)
        return register(monitor, request)

    monkeypatch.setattr(MockMonitor, "RegisterResource", register_and_note)
    monkeypatch.setattr(MockEngine, "Log", lambda _, request: logged.append(request))

    def program() -> None:
        if left_out:
            leave_out_debugging()
        pulumi.CustomResource("kubernetes:core/v1:ConfigMap", "one", {}, None)
        pulumi.log.debug("own")

    run(program)

    [request] = [each for each in requests if each.name == "one"]
    assert request.HasField("sourcePosition") is not left_out
    assert bool(request.stackTrace.frames) is not left_out
    debugged = [each.message for each in logged if each.severity == engine_pb2.DEBUG]
    assert any("name=one" in message for message in debugged) is not left_out
    assert ("beginning rpc register resource" in debugged) is not left_out
    assert "own" in debugged
