"""Schemas of custom resources that reject unknown fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from dev.lab.go_command import Go
from flux_tenancy.components.config.yaml_files import FastLoader


def strict(schema: Any) -> Any:
    """The same schema, which refuses fields that it does not know.

    The API server itself would drop such a field without a word.
    """
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: strict(value) for key, value in schema.items()}
    return {"additionalProperties": False} | closed if isinstance(schema.get("properties"), dict) else closed


def spec_schema(definition: Any, version: str) -> Any:
    """The schema of `spec` in a version of a CustomResourceDefinition."""
    [found] = [each for each in definition["spec"]["versions"] if each["name"] == version]
    return found["schema"]["openAPIV3Schema"]["properties"]["spec"]


def kyverno_policies(checkout: Path, work: Path) -> dict[str, Draft202012Validator]:
    """What checks the `spec` of each kind of policy of the Kyverno that the lab pins.

    Args:
        checkout: the checkout, whose go.mod pins Kyverno.
        work: a folder for what Go needs while it runs.
    """
    folder = (
        _module(checkout, work, "kyverno", "github.com/kyverno/kyverno") / "config" / "crds" / "policies.kyverno.io"
    )
    definitions = [yaml.load(file.read_text(), FastLoader) for file in sorted(folder.glob("*.yaml"))]
    return {
        definition["spec"]["names"]["kind"]: Draft202012Validator(strict(spec_schema(definition, "v1")))
        for definition in definitions
    }


def prometheus_operator_definitions(checkout: Path, work: Path) -> list[Path]:
    """The CustomResourceDefinitions of the Prometheus Operator that the lab pins.

    Args:
        checkout: the checkout, whose go.mod pins it.
        work: a folder for what Go needs while it runs.
    """
    name = "prometheus-operator"
    folder = _module(checkout, work, name, f"github.com/{name}/{name}") / "example" / f"{name}-crd"
    return sorted(folder.glob("*.yaml"))


def _module(checkout: Path, work: Path, tool: str, module: str) -> Path:
    """The files of a module that the go.mod of a tool of the lab pins, verified with its go.sum."""
    [found] = Go(build_cache=work, work=work).download(checkout / "dev" / "lab" / "tools" / tool, [module])
    return Path(found["Dir"])
