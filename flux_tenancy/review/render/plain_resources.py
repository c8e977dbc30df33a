"""The short way for resources whose properties are plain data, which is almost all of them.

For each resource the SDK makes a message for the engine, with its source position, and waits for all that it depends
on: nine tenths of the time of a render, for what is known from the start. Everything before that is the SDK's own:
transformations, and options inherited from parents.

Source: `Resource.__init__` in pulumi/resource.py and `register_resource` in pulumi/runtime/resource.py of Pulumi's
Python SDK
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pulumi
from pulumi import resource as sdk
from pulumi.runtime import rpc

Record = Callable[[pulumi.CustomResource, pulumi.ResourceOptions, Mapping[str, Any]], None]
"""Takes a resource with its options and properties."""
_REGISTER = "register_resource"
_PROPERTIES = "_recorded_properties"


class _Recorded(pulumi.CustomResource):
    """A resource with an attribute for each of its properties, as the SDK would set them."""

    def __getattr__(self, name: str) -> pulumi.Output[Any]:
        properties = self.__dict__.get(_PROPERTIES, {})
        if name not in properties:
            raise AttributeError(name)
        return pulumi.Output.from_input(properties[name])


@contextmanager
def taking_plain_resources(record: Record) -> Iterator[None]:
    """Give resources with plain properties to a function instead of the SDK, as long as the context lasts.

    Args:
        record: is called in the order of the registrations.
    """
    register = getattr(sdk, _REGISTER)

    def register_or_record(found: pulumi.Resource, type_: str, name: str, *others: Any, **options: Any) -> None:
        _, _, _, properties, opts, *_ = others
        if type(found) is not pulumi.CustomResource or not is_plain(properties):
            register(found, type_, name, *others, **options)
            return
        # What others that depend on it ask for; an ID is known after an update alone.
        urn = f"urn:pulumi:{pulumi.get_stack()}::{pulumi.get_project()}::{type_}::{name}"
        found.__dict__["urn"] = found.__dict__["id"] = pulumi.Output.from_input(urn)
        found.__dict__[_PROPERTIES] = properties
        found.__class__ = _Recorded
        record(found, opts, properties)

    setattr(sdk, _REGISTER, register_or_record)
    try:
        yield
    finally:
        setattr(sdk, _REGISTER, register)


def is_plain(properties: Any) -> bool:
    """Whether properties say by themselves what the SDK would send, with the object's name if they have metadata."""
    metadata = properties.get("metadata")
    return (metadata is None or "name" in metadata) and _is_data(properties)


def _is_data(value: Any) -> bool:
    kind = type(value)
    if kind is dict:
        return all(type(key) is str and _is_data(part) for key, part in value.items())
    if kind is list:
        return all(map(_is_data, value))
    return kind in (bool, int, float) or (kind is str and value != rpc.UNKNOWN)
