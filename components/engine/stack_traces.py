"""Leaves stack traces out of the state: where in the program each resource was registered, down to Python's own files.

They would be a quarter of what the state has of a tenant's object, and the engine writes the whole state before and
after each resource that it creates. They also have paths of the machine in them. No command shows them.

Source: `_get_stack_trace` in pulumi/runtime/resource.py of Pulumi's Python SDK, which has no option for it
"""

from __future__ import annotations

from pulumi.runtime import resource as sdk
from pulumi.runtime.proto import source_pb2


def leave_out_stack_traces() -> None:
    """Register resources without stack traces and source positions from now on."""
    sdk._get_stack_trace = source_pb2.StackTrace
