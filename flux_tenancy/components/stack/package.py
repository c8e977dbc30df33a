"""The component package for programs in any language of Pulumi: one component, Platform.

Its typed arguments are the models of a stack's sections, so there is no second list of fields.

Source: https://www.pulumi.com/docs/iac/guides/building-extending/packages/schema/
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_kubernetes
from pulumi.errors import InputPropertiesError
from pulumi.provider import ConstructResult, Provider, main

from flux_tenancy.components.config.errors import KeyPath, dotted
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.engine.log import run_error
from flux_tenancy.components.installs.flux import FluxInstall
from flux_tenancy.components.installs.kyverno import KyvernoInstall
from flux_tenancy.components.policies.component import KyvernoPolicies, NativePolicies
from flux_tenancy.components.policies.config import PolicyEngine
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.described import UNAVAILABLE_SECTIONS, describe
from flux_tenancy.components.tenant import Tenant
from flux_tenancy.version import VERSION

PACKAGE = "flux-tenancy"
PLATFORM = f"{PACKAGE}:index:Platform"
_KUBECONFIG = "kubeconfig"
_KUBECONFIG_PROPERTY = {"type": "string", "secret": True, "description": "Content of a kubeconfig, as YAML or JSON."}
_ANY = {"$ref": "pulumi.json#/Any"}
_SCALARS = ("string", "integer", "number", "boolean")


def serve() -> None:
    """Run as the plugin that the engine starts."""
    main(ComponentPackage(VERSION, json.dumps(package_schema())), sys.argv[1:])


class Platform(pulumi.ComponentResource):
    """Flux, the policies and the tenants of one cluster, as in a program of the components.

    Args:
        name: of the resource.
        sections: as of `describe`.
        kubeconfig: as of `describe`.
        opts: options of the resource.

    Raises:
        RunError: as of `describe`.
    """

    def __init__(
        self,
        name: str,
        sections: Mapping[str, Any],
        kubeconfig: pulumi.Input[str],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(PLATFORM, name, None, opts)
        described = describe(sections, kubeconfig)
        own = pulumi.ResourceOptions(parent=self)
        provider = pulumi_kubernetes.Provider(name, kubeconfig=pulumi.Output.secret(kubeconfig), opts=own)
        on_cluster = pulumi.ResourceOptions(parent=self, provider=provider)
        flux = FluxInstall("flux", described.flux, on_cluster)
        kyverno = KyvernoInstall("kyverno", described.kyverno, on_cluster) if sections.get("kyverno") else None
        policies: list[NativePolicies | KyvernoPolicies] = []
        if PolicyEngine.NATIVE in described.engines:
            policies.append(NativePolicies("native-policies", described.native_policies(flux), on_cluster))
        if kyverno and PolicyEngine.KYVERNO in described.engines:
            policies.append(KyvernoPolicies("kyverno-policies", described.kyverno_policies(flux, kyverno), on_cluster))
        for tenant, args in described.tenants(*policies).items():
            Tenant(tenant, args, on_cluster)
        self.register_outputs({})


class ComponentPackage(Provider):
    """The plugin, which registers a Platform for a program in another process."""

    def construct(
        self, name: str, resource_type: str, inputs: Mapping[str, Any], options: pulumi.ResourceOptions | None = None
    ) -> ConstructResult:
        try:
            sections = {key: _plain(value, (key,)) for key, value in inputs.items() if key != _KUBECONFIG}
            return ConstructResult(Platform(name, sections, inputs[_KUBECONFIG], options).urn, {})
        except pulumi.RunError as error:
            # The SDK adds a traceback or a class name to any other, and fails for this one without a list.
            raise InputPropertiesError(str(error), []) from None


def _plain(value: Any, path: KeyPath) -> Any:
    """A value as a stack file has it: the engine sends each number as a float."""
    if isinstance(value, pulumi.Output):
        raise run_error(
            Message(
                "FT-CFG-855",
                f"flux-tenancy: {dotted(path)} is an output",
                "give it as plain data: only kubeconfig may be an output or a secret (docs/components.md)",
            )
        )
    if isinstance(value, Mapping):
        return {key: _plain(each, (*path, key)) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each, (*path, index)) for index, each in enumerate(value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def package_schema() -> dict[str, Any]:
    """The package's schema, from the models of a stack's sections."""
    schema = StackConfig.model_json_schema()
    definitions = schema["$defs"]
    sections = {key: each for key, each in schema["properties"].items() if key not in UNAVAILABLE_SECTIONS}
    inputs = {key: _property(each, definitions) for key, each in sections.items()}
    return {
        "name": PACKAGE,
        "version": VERSION,
        "description": "Turns a Kubernetes cluster into a multi-tenant Flux platform",
        "license": "Apache-2.0",
        "types": {
            f"{PACKAGE}:index:{name}": _object(each, definitions)
            for name, each in definitions.items()
            if _is_object(each)
        },
        "resources": {
            PLATFORM: {
                "isComponent": True,
                "description": "Flux, the policies and the tenants of one cluster.",
                "inputProperties": inputs | {_KUBECONFIG: _KUBECONFIG_PROPERTY},
                "requiredInputs": sorted({_KUBECONFIG, *schema["required"]} & {_KUBECONFIG, *inputs}),
            }
        },
        "language": {"nodejs": {"respectSchemaVersion": True}, "python": {"respectSchemaVersion": True}},
    }


def _is_object(schema: Mapping[str, Any]) -> bool:
    return "properties" in schema


def _object(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": schema.get("description", ""),
        "properties": {key: _property(each, definitions) for key, each in schema["properties"].items()},
        "required": schema.get("required", []),
    }


def _property(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    described = {"description": schema["description"]} if "description" in schema else {}
    return _type(schema, definitions) | {"plain": True} | described


def _type(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """The type of a value; a union, which few languages can name, is any value."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        definition = definitions[name]
        is_object = _is_object(definition)
        return {"$ref": f"#/types/{PACKAGE}:index:{name}"} if is_object else _type(definition, definitions)
    choices = [each for each in schema.get("anyOf", schema.get("allOf", [])) if each.get("type") != "null"]
    if choices:
        return _type(choices[0], definitions) if len(choices) == 1 else _ANY
    match schema.get("type"):
        case scalar if scalar in _SCALARS:
            return {"type": scalar}
        case "array" if "items" in schema:
            return {"type": "array", "items": _type(schema["items"], definitions) | {"plain": True}}
        case "object":
            values = [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties")]
            value = values[0] if isinstance(values[0], dict) else {}
            return {"type": "object", "additionalProperties": _type(value, definitions) | {"plain": True}}
    return _ANY
