"""Translates of an object's outputs only what the program reads.

The SDK translates all outputs of each resource, with an object's status and managed fields: two thirds of the time of a
program with thousands of objects.
"""

from __future__ import annotations

from typing import Any

import pulumi
from google.protobuf import struct_pb2
from pulumi.runtime import rpc

READ = ("metadata", "data")
"""The outputs that the program reads: generated names, and tokens in Secrets."""
_KUBERNETES = "kubernetes:"

_resolve_outputs = rpc.resolve_outputs


def leave_out_outputs() -> None:
    """From now on, all other outputs of objects are None. Resources with a class of their own keep theirs.

    Source: resolve_outputs in sdk/python/lib/pulumi/runtime/rpc.py of Pulumi
    """
    vars(rpc)["resolve_outputs"] = _resolve_what_is_read


def _resolve_what_is_read(
    resource: pulumi.Resource,
    inputs: struct_pb2.Struct,
    outputs: struct_pb2.Struct,
    *arguments: Any,
    **options: Any,
) -> None:
    if type(resource) is pulumi.CustomResource and resource.pulumi_resource_type.startswith(_KUBERNETES):
        inputs, outputs = _read(inputs), _read(outputs)
    _resolve_outputs(resource, inputs, outputs, *arguments, **options)


def _read(properties: struct_pb2.Struct) -> struct_pb2.Struct:
    kept = struct_pb2.Struct()
    for key in READ:
        if key in properties.fields:
            kept.fields[key].CopyFrom(properties.fields[key])
    if "metadata" in kept.fields and "managedFields" in (metadata := kept.fields["metadata"].struct_value.fields):
        del metadata["managedFields"]
    return kept
