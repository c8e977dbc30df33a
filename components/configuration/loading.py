"""From what Pulumi hands over and the files in `tenants/` to one checked StackConfig."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from components.configuration.errors import ConfigurationError, MisplacedValueError, Problem
from components.configuration.messages import dotted, message
from components.configuration.models import StackConfig
from components.configuration.overlay import Overlaid, overlay
from components.configuration.types import TenantName
from components.configuration.yaml_files import read_mapping

TENANTS_FOLDER = "tenants"
_TENANT_NAME: TypeAdapter[str] = TypeAdapter(TenantName)


def load_stack(stack: str, values: Mapping[str, str], secret_keys: Collection[str], project: Path) -> StackConfig:
    """Read, overlay and check the configuration of one stack as a whole.

    Args:
        stack: name of the stack; `Pulumi.<stack>.yaml` is where the errors point to.
        values: the project's configuration as Pulumi has it: key without namespace -> text or JSON.
        secret_keys: those of `values` that hold a secret; nothing of them is ever shown.
        project: folder of the Pulumi project, which holds `tenants/`.

    Raises:
        ConfigurationError: with every problem of the stack, each with its file and path.
    """
    stack_file = f"Pulumi.{stack}.yaml"
    problems: list[Problem] = []
    sections = {key: _structured(value) for key, value in values.items()}
    tenants = sections.get("tenants")
    overlaid: dict[str, Overlaid] = {}
    if isinstance(tenants, Mapping):
        for name, entry in tenants.items():
            merged = _with_base(name, {} if entry is None else entry, stack_file, project)
            if isinstance(merged, Problem):
                problems.append(merged)
            else:
                overlaid[name] = merged
        sections["tenants"] = {name: merged.value for name, merged in overlaid.items()}
    try:
        config = StackConfig.model_validate(sections)
    except ValidationError as error:
        problems += [
            _problem(details, overlaid, secret_keys, stack_file)
            for details in error.errors(include_url=False)
            if not _only_follows(details)
        ]
        raise ConfigurationError(problems) from None
    problems += _shared_namespaces(config, overlaid, stack_file)
    problems += _plain_secrets(config, secret_keys, stack_file)
    if problems:
        raise ConfigurationError(problems)
    return config


def _structured(value: str) -> Any:
    """Pulumi hands mappings and lists over as JSON, and everything else as it is."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def _only_follows(error: ErrorDetails) -> bool:
    """Whether this is about a list that is called too short only because its items have problems of their own."""
    return error["type"] == "too_short" and bool(error["input"])


def _with_base(name: str, entry: Any, stack_file: str, project: Path) -> Overlaid | Problem:
    base_file = f"{TENANTS_FOLDER}/{name}.yaml"
    path = project / base_file
    try:
        _TENANT_NAME.validate_python(name)
    except ValidationError as error:
        return Problem(stack_file, f"tenants.{name}", message(error.errors()[0], show_input=True))
    if not isinstance(entry, Mapping):
        return Problem(stack_file, f"tenants.{name}", "must be a mapping, or {} for the tenant as its base has it")
    if not path.is_file():
        return Problem(
            base_file,
            "",
            f"does not exist, but {stack_file} lists the tenant {name}; write the tenant's base there",
        )
    base = read_mapping(path, base_file)
    return base if isinstance(base, Problem) else overlay(base, base_file, entry, stack_file)


def _problem(
    error: ErrorDetails, overlaid: Mapping[str, Overlaid], secret_keys: Collection[str], stack_file: str
) -> Problem:
    location = error["loc"]
    reason = error.get("ctx", {}).get("error")
    if isinstance(reason, MisplacedValueError):
        location += reason.path
    text = message(error, show_input=not location or location[0] not in secret_keys)
    if len(location) > 2 and location[0] == "tenants" and location[1] in overlaid:
        name, inner = location[1], location[2:]
        base_file = f"{TENANTS_FOLDER}/{name}.yaml"
        if (overlaid[name].origin(inner) or base_file) == base_file:
            return Problem(base_file, dotted(inner), text)
    return Problem(stack_file, dotted(location), text)


def _plain_secrets(config: StackConfig, secret_keys: Collection[str], stack_file: str) -> list[Problem]:
    """Secrets that stand in the stack file for everybody to read (threat 28)."""
    if config.cluster.kubeconfig_content is None or "cluster" in secret_keys:
        return []
    remedy = "renew the credentials in it, and use `pulumi config set --secret --path cluster.kubeconfigContent`"
    return [Problem(stack_file, "cluster.kubeconfigContent", f"stands in plain text; {remedy}")]


def _shared_namespaces(config: StackConfig, overlaid: Mapping[str, Overlaid], stack_file: str) -> list[Problem]:
    """Namespaces that two tenants claim; each would be at home in the other's (threat 27)."""
    claims: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for tenant, tenant_config in config.tenants.items():
        for index, namespace in enumerate(tenant_config.namespace_names):
            claims[namespace].append((tenant, index))
    problems = []
    for namespace, owners in claims.items():
        for tenant, index in owners[1:]:
            file = overlaid[tenant].origin(("namespaces", index)) or stack_file
            prefix = f"tenants.{tenant}." if file == stack_file else ""
            problems.append(
                Problem(
                    file,
                    f"{prefix}namespaces[{index}].name",
                    f"{namespace!r} already belongs to the tenant {owners[0][0]}; a namespace has one tenant",
                )
            )
    return problems
