"""The schema of the component package is that of the models, and a wrong argument is an error without a traceback."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from pulumi.errors import InputPropertiesError

from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.package import PLATFORM, ComponentPackage, package_schema
from flux_tenancy.components.tenant.config import TenantConfig

CHECKOUT = Path(__file__).parents[4]
SCHEMA = package_schema()
INPUTS: dict[str, Any] = SCHEMA["resources"][PLATFORM]["inputProperties"]


def test_every_type_that_the_schema_names_is_in_it() -> None:
    named = set(re.findall(r'"#/types/([^"]+)"', json.dumps(SCHEMA)))
    assert "flux-tenancy:index:FluxConfig" in named
    assert named <= set(SCHEMA["types"])


def test_its_arguments_are_the_sections_that_a_program_of_ones_own_may_have() -> None:
    sections = {field.alias or name for name, field in StackConfig.model_fields.items()}
    assert set(INPUTS) == sections - {"cluster", "capsule"} | {"kubeconfig"}
    assert INPUTS["tenants"]["additionalProperties"]["$ref"] == "#/types/flux-tenancy:index:TenantConfig"


def test_a_tenant_has_the_fields_and_the_types_of_its_model() -> None:
    tenant = SCHEMA["types"]["flux-tenancy:index:TenantConfig"]
    assert set(tenant["properties"]) == set(TenantConfig.model_json_schema()["properties"])
    assert tenant["properties"]["namespaces"]["items"]["$ref"] == "#/types/flux-tenancy:index:NamespaceConfig"


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"flux": {"version": 2.0}}, r"flux\.version: .*"),
        (
            {"tenants": {"a": {"roles": [object.__new__(pulumi.Output)]}}},
            r"tenants\.a\.roles\[0\] is an output; .*FT-CFG-855",
        ),
    ],
    ids=["wrong type", "output"],
)
def test_a_wrong_argument_is_an_error_with_its_path(
    inputs: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulumi.ComponentResource, "__init__", lambda *_, **__: None)

    with pytest.raises(InputPropertiesError, match=message):
        ComponentPackage("0.1.0", "{}").construct("platform", PLATFORM, inputs | {"kubeconfig": "{}"})


def test_the_page_has_a_program_with_arguments_of_the_package() -> None:
    page = (CHECKOUT / "docs" / "components.md").read_text()
    [program] = [
        yaml.safe_load(each) for each in re.findall(r"```yaml\n(.*?)```", page, re.S) if "runtime: yaml" in each
    ]
    [platform] = program["resources"].values()
    assert platform["type"] == "flux-tenancy:Platform"
    assert set(platform["properties"]) <= set(INPUTS)
    assert set(SCHEMA["resources"][PLATFORM]["requiredInputs"]) <= set(platform["properties"])
