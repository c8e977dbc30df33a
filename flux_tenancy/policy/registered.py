"""Resources as the SDK for policy packs has them, as the rendered objects that the rules judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pulumi_policy import ResourceValidationArgs
from pulumi_policy.deserialize import SPECIAL_SECRET_SIG, SPECIAL_SIG_KEY, serialize_properties
from pulumi_policy.proxy import UnknownValueError, unknown_checking_proxy

from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.review.render.recorder import GENERATED
from flux_tenancy.review.render.rendered import PLATFORM, RenderedObject
from flux_tenancy.review.rules.access import MARKED_AS_SECRET


def registered_object(args: ResourceValidationArgs) -> RenderedObject:
    """A resource that is about to be registered. What only an update can know is `GENERATED`.

    The SDK hides which values are secret, except from remediations (`with_secrets`).
    """
    return _object(args, _plain(args.props))


def with_secrets(args: ResourceValidationArgs) -> RenderedObject:
    """The same from the arguments of a remediation, with `MARKED_AS_SECRET` in the place of each secret."""
    sent = _marked(serialize_properties(args.props))
    return _object(args, _plain(unknown_checking_proxy(sent)))


def _object(args: ResourceValidationArgs, properties: dict[str, Any]) -> RenderedObject:
    if "apiVersion" in properties and "kind" in properties:
        # As the provider does for an object without a name.
        manifest = properties | {"metadata": {"name": args.name} | (properties.get("metadata") or {})}
    else:
        kind = args.resource_type.rpartition(":")[2]
        manifest = {"kind": kind, "metadata": {"name": args.name}, "properties": properties}
    labels = manifest["metadata"].get("labels") or {}
    return RenderedObject(str(labels.get(TENANT_LABEL, PLATFORM)), args.resource_type, args.name, manifest)


def _plain(value: Any) -> Any:
    """A value of the SDK's proxies, which raise an error for each part that is not known yet, as plain data."""
    if isinstance(value, Mapping):
        return {key: _known(value, key) for key in value}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_known(value, index) for index in range(len(value))]
    return value


def _known(container: Any, key: Any) -> Any:
    try:
        return _plain(container[key])
    except UnknownValueError:
        return GENERATED


def _marked(value: Any) -> Any:
    """A value as it is sent to the engine, with its secrets replaced."""
    if isinstance(value, dict):
        if value.get(SPECIAL_SIG_KEY) == SPECIAL_SECRET_SIG:
            return MARKED_AS_SECRET
        return {key: _marked(part) for key, part in value.items()}
    return [_marked(part) for part in value] if isinstance(value, list) else value
