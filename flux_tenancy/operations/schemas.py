"""JSON Schemas for the two kinds of file of a project, so that editors complete and check them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.files.project import read_project_file
from flux_tenancy.components.tenant.config import TenantConfig
from flux_tenancy.project.errors import reading_files

FOLDER = "schemas"
"""Where a project has its schemas."""
STACK_SCHEMA, TENANT_SCHEMA = "stack.schema.json", "tenant.schema.json"

_PART = "PartOf{}"


def tenant_schema() -> dict[str, Any]:
    """For `tenants/*.yaml`: a tenant of which any part may be left to the stacks, and secrets must be."""
    tenant = _partial(TenantConfig.model_json_schema(ref_template="#/definitions/{model}"))
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Base of a tenant, shared by all environments",
        **_with_secrets(tenant, lambda _: False),
    }


def stack_schema(project: str) -> dict[str, Any]:
    """For `Pulumi.<stack>.yaml`: Pulumi's own keys, and those of the project typed under `config`.

    Args:
        project: name of the project, which its keys begin with.
    """
    schema = StackConfig.model_json_schema(ref_template="#/definitions/{model}")
    definitions = schema.pop("$defs")
    # Of what a tenant is made of, a part may stand in its base; what else uses the same models has to be whole.
    tenant = _partial(TenantConfig.model_json_schema(ref_template=f"#/definitions/{_PART.format('{model}')}"))
    definitions |= {_PART.format(name): part for name, part in tenant.pop("definitions").items()}
    definitions["TenantConfig"] = {"anyOf": [tenant, {"type": "null"}]}
    definitions = _with_secrets(definitions, _encrypted)
    definitions["Encrypted"] = {
        "description": "Written by `pulumi config set --secret`.",
        "type": "object",
        "properties": {"secure": {"type": "string"}},
        "required": ["secure"],
        "additionalProperties": False,
    }
    properties = {f"{project}:{key}": value for key, value in schema["properties"].items()}
    used = _referenced(properties, definitions)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"A stack of {project}",
        "type": "object",
        "properties": {
            "config": {
                "type": "object",
                "properties": properties,
                "required": [f"{project}:{key}" for key in schema["required"]],
                # Pulumi's own are Pulumi's to check; nobody reads any other.
                "patternProperties": {"^pulumi:": True},
                "additionalProperties": False,
            }
        },
        "definitions": {name: definition for name, definition in definitions.items() if name in used},
    }


def _referenced(schema: Any, definitions: dict[str, Any]) -> set[str]:
    """The names of all definitions that a schema refers to, by itself or through others."""
    used: set[str] = set()
    unread = [schema]
    while unread:
        value = unread.pop()
        if isinstance(value, dict):
            name = str(value.get("$ref", "")).rpartition("/")[2]
            if name and name not in used:
                used.add(name)
                unread.append(definitions[name])
            unread += value.values()
        elif isinstance(value, list):
            unread += value
    return used


def _encrypted(secret: dict[str, Any]) -> dict[str, Any]:
    return {"description": secret["description"], "allOf": [{"$ref": "#/definitions/Encrypted"}]}


def _with_secrets(schema: Any, replace: Callable[[dict[str, Any]], Any]) -> Any:
    """The same schema with each secret, whether it may be left out or not, replaced."""
    if isinstance(schema, list):
        return [_with_secrets(item, replace) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if any(choice.get("writeOnly") is True for choice in [schema, *schema.get("anyOf", [])]):
        return replace(schema)
    return {key: _with_secrets(value, replace) for key, value in schema.items()}


def _partial(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema with nothing required, since the other file may say it."""
    definitions = schema.pop("$defs")
    schema.pop("required")
    # The overlay merges mappings but replaces lists, so what stands in a list has to be whole.
    in_lists = {
        value["items"]["$ref"].rsplit("/", 1)[-1]
        for each in (schema, *definitions.values())
        for value in each.get("properties", {}).values()
        if "$ref" in value.get("items", {})
    }
    for name, definition in definitions.items():
        if name not in in_lists:
            definition.pop("required", None)
    whole: dict[str, Any] = _with_any_kind(schema | {"definitions": definitions})
    return whole


def _with_any_kind(schema: Any) -> Any:
    """The same schema in which a part that leaves out its `kind` may be of several."""
    if isinstance(schema, list):
        return [_with_any_kind(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {"anyOf" if key == "oneOf" else key: _with_any_kind(value) for key, value in schema.items()}


def rendered(project: str) -> dict[str, str]:
    """The content of each schema of a project, by the name of its file."""
    schemas = {STACK_SCHEMA: stack_schema(project), TENANT_SCHEMA: tenant_schema()}
    return {name: json.dumps(schema, indent=2) + "\n" for name, schema in schemas.items()}


def write_schemas(project: Path) -> list[Path]:
    """Write the schemas of a project; returns their files, relative to it.

    Raises:
        OperationError: `Pulumi.yaml` cannot be read.
        OSError: a schema cannot be written.
    """
    with reading_files():
        name = read_project_file(project).name
    written = []
    for file, text in rendered(name).items():
        path = Path(FOLDER, file)
        (project / FOLDER).mkdir(exist_ok=True)
        (project / path).write_text(text, encoding="utf-8")
        written.append(path)
    return written
