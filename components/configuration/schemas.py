"""JSON Schemas for the two kinds of file, so that editors complete and check them. `make schemas` writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from components.configuration.models import StackConfig, TenantConfig

PROJECT = "flux-tenancy"
SCHEMAS = Path(__file__).parents[2] / "schemas"


def tenant_schema() -> dict[str, Any]:
    """For `tenants/*.yaml`: a tenant of which any part may be left to the stacks."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Base of a tenant, shared by all environments",
    } | _partial(TenantConfig.model_json_schema(ref_template="#/definitions/{model}"))


def stack_schema() -> dict[str, Any]:
    """For `Pulumi.<stack>.yaml`: Pulumi's own keys, and ours typed under `config`."""
    schema = StackConfig.model_json_schema(ref_template="#/definitions/{model}")
    definitions = schema.pop("$defs")
    tenant = _partial(TenantConfig.model_json_schema(ref_template="#/definitions/{model}"))
    definitions |= tenant.pop("definitions")
    definitions["TenantConfig"] = {"anyOf": [tenant, {"type": "null"}]}
    definitions["SecretStr"] = {
        "description": "Written by `pulumi config set --secret`.",
        "type": "object",
        "properties": {"secure": {"type": "string"}},
        "required": ["secure"],
        "additionalProperties": False,
    }
    definitions["ClusterConfig"]["properties"]["kubeconfigContent"] = {"$ref": "#/definitions/SecretStr"}
    properties = {f"{PROJECT}:{key}": value for key, value in schema["properties"].items()}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A stack of flux-tenancy",
        "type": "object",
        "properties": {
            "config": {
                "type": "object",
                "properties": properties,
                "required": [f"{PROJECT}:{key}" for key in schema["required"]],
                # Keys of the engine and of other projects are theirs to check; of ours there are no others.
                "patternProperties": {f"^{PROJECT}:(?!({'|'.join(schema['properties'])})$)": False},
            }
        },
        "definitions": definitions,
    }


def _partial(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema with nothing required, since the other file may say it."""
    definitions = schema.pop("$defs")
    schema.pop("required")
    # The overlay merges mappings but replaces lists, so what stands in a list has to be whole.
    in_lists = {
        value["items"]["$ref"].rsplit("/", 1)[-1]
        for value in schema["properties"].values()
        if "$ref" in value.get("items", {})
    }
    for name, definition in definitions.items():
        if name not in in_lists:
            definition.pop("required", None)
    return schema | {"definitions": definitions}


def rendered() -> dict[Path, str]:
    """Each schema file and what must stand in it."""
    schemas = {"stack.schema.json": stack_schema(), "tenant.schema.json": tenant_schema()}
    return {SCHEMAS / name: json.dumps(schema, indent=2) + "\n" for name, schema in schemas.items()}


if __name__ == "__main__":
    SCHEMAS.mkdir(exist_ok=True)
    for file, text in rendered().items():
        file.write_text(text, encoding="utf-8")
        print(file.relative_to(SCHEMAS.parent))
