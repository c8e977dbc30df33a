"""Renders a stack without a cluster: every object that `pulumi up` would apply, from the very components of the update.

Encrypted values stay encrypted: each is shown as a keyed digest of its encrypted form.

The platform's own registration runs without an engine, and the resources that it asks for are recorded. Pulumi's SDK
sends each resource to a monitor. For tests it takes one that is an object of the same process, which is what is used
here: the components cannot tell the difference, so what is recorded is what an update would be asked for.

Source: `set_mocks` and `MockMonitor` in pulumi/runtime/mocks.py of Pulumi's Python SDK

The short way for resources whose properties are plain data, which is almost all of them.

For each resource the SDK makes a message for the engine, with its source position, and waits for all that it depends
on: nine tenths of the time of a render, for what is known from the start. Everything before that is the SDK's own:
transformations, and options inherited from parents.

Source: `Resource.__init__` in pulumi/resource.py and `register_resource` in pulumi/runtime/resource.py of Pulumi's
Python SDK
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi
from google.protobuf import json_format
from pulumi import resource as sdk
from pulumi.runtime import rpc
from pulumi.runtime.mocks import MockCallArgs, MockMonitor, MockResourceArgs, Mocks, set_mocks
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.settings import ROOT, SETTINGS, get_root_resource

from flux_tenancy.components.cluster.config import ClusterConfig
from flux_tenancy.components.config.errors import ConfigurationError, present
from flux_tenancy.components.engine.code import code_problems
from flux_tenancy.components.engine.log import leave_out_debugging
from flux_tenancy.components.stack.cluster.findings import offline_preflight
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.files.project import StackName, read_project_file
from flux_tenancy.components.stack.loading import load_offline
from flux_tenancy.components.stack.platform import register_platform
from flux_tenancy.components.tenant.component import TENANT_COMPONENT
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.review.render.facts import read_written, stack_facts
from flux_tenancy.review.render.rendered import GENERATED, PLATFORM, Render, RenderedObject

_RANKS = {key: rank for rank, key in enumerate(("apiVersion", "kind", "metadata", "name", "namespace"))}


@dataclass(frozen=True)
class Registered:
    """A resource as the engine would be asked for it.

    Attributes:
        parent: type and name of the component that it belongs to; empty without one.
        name: its name in the state.
        properties: its inputs; secrets are in plain text, and unknown values are GENERATED.
        protected: whether it has Pulumi's option `protect`.
    """

    parent: tuple[str, str]
    type: str
    name: str
    properties: Mapping[str, Any]
    protected: bool


class _Unused(Mocks):
    """The SDK asks for an implementation; the monitor below answers without it."""

    def new_resource(self, args: MockResourceArgs) -> tuple[str, dict[str, Any]]:
        raise NotImplementedError

    def call(self, args: MockCallArgs) -> tuple[dict[str, Any], None]:
        raise NotImplementedError


class _NoHooks:
    """Hooks run when the engine changes something, which nobody does here."""

    def register_resource_hook(self, hook: pulumi.ResourceHook) -> None: ...

    def register_error_hook(self, hook: pulumi.ErrorHook) -> None: ...


class _Monitor(MockMonitor):
    """Answers as the engine does in a preview of a new stack: the outputs of a resource are its inputs."""

    def __init__(self) -> None:
        super().__init__(_Unused())
        self.requests: list[Any] = []

    def RegisterResource(self, request: Any) -> Any:
        if request.custom:
            self.requests.append(request)
        outputs = request.object
        metadata = outputs.fields["metadata"].struct_value.fields if "metadata" in outputs.fields else None
        if metadata is not None and "name" not in metadata:
            # As the provider does: an object without a name gets one that begins with the resource's.
            metadata["name"].string_value = request.name
        return resource_pb2.RegisterResourceResponse(
            urn=self.make_urn(request.parent, request.type, request.name), id=request.name, object=outputs
        )


def record(program: Callable[[], Any], project: str, stack: str) -> list[Registered]:
    """Run a program as a preview of a new stack; returns its resources without the components.

    Args:
        program: registers resources.
    """
    leave_out_debugging()
    monitor = _Monitor()
    plain: list[Registered] = []

    def take(resource: pulumi.CustomResource, opts: pulumi.ResourceOptions, properties: Mapping[str, Any]) -> None:
        parent = present(opts.parent or get_root_resource(), "the stack is the parent of all that have no other")
        of = parent.pulumi_resource_type, parent.pulumi_resource_name
        name = resource.pulumi_resource_name
        plain.append(Registered(of, resource.pulumi_resource_type, name, _plain(properties), bool(opts.protect)))

    with asyncio.Runner() as runner, taking_plain_resources(take), _as_before():
        asyncio.set_event_loop(runner.get_loop())
        # The stack of an earlier render has transformations, such as the one that protects resources.
        ROOT.set(None)
        set_mocks(_Unused(), project=project, stack=stack, preview=True, organization="organization", monitor=monitor)
        SETTINGS.callbacks = _NoHooks()
        pulumi.runtime.test(program)()  # type: ignore[no-untyped-call]
        asyncio.set_event_loop(None)
    return [*plain, *map(_registered, monitor.requests)]


@contextmanager
def _as_before() -> Iterator[None]:
    """Afterwards, what runs in this process is a preview only if it was one before."""
    before = SETTINGS.dry_run
    try:
        yield
    finally:
        SETTINGS.dry_run = before


def _registered(request: Any) -> Registered:
    properties = _plain(json_format.MessageToDict(request.object))
    return Registered(_parent(request.parent), request.type, request.name, properties, request.protect)


def _parent(urn: str) -> tuple[str, str]:
    _, _, rest = urn.partition("::")
    types, _, name = rest.partition("::")[2].rpartition("::")
    return types.rpartition("$")[2], name


def _plain(value: Any) -> Any:
    """A value as the program has written it: numbers that are whole, secrets and unknown values without their marks."""
    if isinstance(value, dict):
        if value.get(rpc._special_sig_key) == rpc._special_secret_sig:
            return _plain(value["value"])
        # The SDK's messages have no order; this is the one in which people write manifests.
        return {key: _plain(value[key]) for key in sorted(value, key=lambda key: (_RANKS.get(key, len(_RANKS)), key))}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return GENERATED if value == rpc.UNKNOWN else value


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


TARGET = "pulumi:providers:kubernetes"
"""The type of the object that says for which cluster a stack is."""
_PROVIDERS = "pulumi:"


def render_stack(project: Path, stack: str) -> Render:
    """Render one stack; arguments and errors are those of `load_and_render`."""
    return load_and_render(project, stack)[0]


def rendered_files(project: Path, stack: str) -> Render:
    """Render one stack from its files, whatever packages they require; otherwise as `render_stack`."""
    return _load_and_render(project, stack)[0]


def load_and_render(project: Path, stack: str, tenant: str = "") -> tuple[Render, StackConfig]:
    """Render one stack; returns its configuration, too.

    Args:
        stack: name of the stack, which has a file in it; the render goes by its last part.
        tenant: the only tenant to render, as if the stack had no other; all by default.

    Raises:
        ConfigurationError: with every problem of the stack's files and of its releases, or because other code would run
            than the one that is installed and reviewed.
    """
    if problems := code_problems(project, read_project_file(project).environment):
        raise ConfigurationError(problems)
    return _load_and_render(project, stack, tenant)


def _load_and_render(project: Path, stack: str, tenant: str = "") -> tuple[Render, StackConfig]:
    stack = StackName.parse(stack).stack
    described = read_project_file(project)
    config, file = load_offline(stack, project)
    if tenant:
        config = config.model_copy(update={"tenants": {tenant: config.tenants[tenant]}})
    found = offline_preflight(config, stack, file.name, project)
    resources = record(lambda: register_platform(config, found, {}) and None, described.name, stack)
    # The chart's path differs between machines, its digest does not.
    charts = [found.chart, found.capsule.chart if found.capsule else None]
    chart = {each.path: f"sha256:{Path(each.path).stem}" for each in charts if each is not None}
    objects = [_rendered(each, chart) for each in resources if not each.type.startswith(_PROVIDERS)]
    facts = stack_facts(config, read_written(stack, project), project)
    return Render.of(stack, [_target(config.cluster), *objects], facts), config


def _target(cluster: ClusterConfig) -> RenderedObject:
    """The cluster that the stack is for: the same objects in another cluster are another change."""
    content = cluster.kubeconfig_content
    named = {
        "context": cluster.context,
        "kubeconfig": cluster.kubeconfig,
        "kubeconfigContent": content.get_secret_value() if content else None,
        "uid": cluster.uid,
    }
    properties = {key: value for key, value in named.items() if value is not None}
    return RenderedObject(
        PLATFORM, TARGET, "cluster", {"kind": "Cluster", "metadata": {"name": "cluster"}, "properties": properties}
    )


def _rendered(resource: Registered, chart: Mapping[str, str]) -> RenderedObject:
    manifest = dict(resource.properties)
    if "apiVersion" in manifest:
        # As the provider does for an object without a name.
        manifest["metadata"] = {"name": resource.name} | manifest["metadata"]
        if manifest["kind"] == "Secret":
            manifest = _readable(manifest)
    else:
        if "chart" in manifest:
            manifest["chart"] = chart[manifest["chart"]]
        namespace = {"namespace": manifest["namespace"]} if "namespace" in manifest else {}
        kind = resource.type.rpartition(":")[2]
        manifest = {"kind": kind, "metadata": {"name": resource.name} | namespace, "properties": manifest}
    return RenderedObject(_owner(resource, manifest), resource.type, resource.name, manifest, resource.protected)


def _readable(secret: Manifest) -> Manifest:
    """A Secret with its entries as text, so that a reader sees what is public and what is sealed."""
    data = secret.get("data")
    if not isinstance(data, Mapping):
        return secret  # generated when first applied
    text = {key: value if value == GENERATED else b64decode(value).decode() for key, value in data.items()}
    return {key: value for key, value in secret.items() if key != "data"} | {"stringData": text}


def _owner(resource: Registered, manifest: Manifest) -> str:
    kind, name = resource.parent
    if kind == TENANT_COMPONENT:
        return name
    labels = manifest["metadata"].get("labels") or {}
    return str(labels.get(TENANT_LABEL, PLATFORM))
