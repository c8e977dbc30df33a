"""A stack that is in order, and parts of it that tests replace to put one thing out of order."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, cast

import pulumi
import pytest
import yaml
from kubernetes.client import ApiClient

from flux_tenancy.components.cluster.config import ClusterConfig
from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.components.git.config import GitSource
from flux_tenancy.components.installs.flux.config import FluxConfig
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.files.stack_file import StackFile
from flux_tenancy.components.stack.loading import load_stack
from flux_tenancy.components.tenant.config import TenantConfig
from flux_tenancy.components.tenant.leaving.deletion import Offboarding
from tests.support.releases import FLUX_VERSION

PROJECT = "flux-tenancy"
DIGEST = "5f" * 32
CLUSTER: dict[str, Any] = {"kubeconfig": "kubeconfig"}
CLUSTER_KEYS = ", ".join(field.alias or name for name, field in ClusterConfig.model_fields.items())
"""The keys of the section `cluster`, as errors list them."""
FLUX: dict[str, Any] = {"version": FLUX_VERSION, "sha256": DIGEST}
KYVERNO: dict[str, Any] = {"version": "1.19.1", "sha256": DIGEST, "chart": {"version": "3.9.1"}}
DEV_TEAM_BASE = """\
namespaces:
  - name: apps
source:
  url: https://git.example.com/dev-team/apps
  branch: main
sync:
  path: ./base
  interval: 10m
"""


def write_project_file(project: Path, name: str = PROJECT) -> None:
    """What makes a folder a project of Pulumi."""
    (project / "Pulumi.yaml").write_text(f"name: {name}\nruntime: python\n")


class Secret(str):
    """A text that the stack's file holds encrypted."""


def load(
    project: Path,
    *,
    bases: Mapping[str, str | bytes] | None = None,
    secret_keys: Collection[str] = (),
    file: StackFile | None = None,
    **sections: Any,
) -> StackConfig:
    """Load the stack `staging` of a project; `sections` replace those of the stack that is in order.

    A section that is `...` is left out, a text is handed over as it is, and anything else as Pulumi does: as JSON.
    The stack's file has them as well, unless Pulumi's service keeps them; sections that hold a `Secret` are secret.
    """
    folder = project / "tenants"
    folder.mkdir(exist_ok=True)
    if not (project / "Pulumi.yaml").exists():
        write_project_file(project)
    for name, text in ({"dev-team": DEV_TEAM_BASE} if bases is None else bases).items():
        (folder / f"{name}.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    stack = {key: value for key, value in ({"cluster": CLUSTER, "flux": FLUX} | sections).items() if value is not ...}
    values = {key: value if isinstance(value, str) else json.dumps(value) for key, value in stack.items()}
    encrypted = {key: _encrypted(value) for key, value in stack.items()}
    with_secrets = {key for key in stack if encrypted[key] != stack[key]}
    name = "Pulumi.staging.yaml"
    # What Pulumi calls a secret and no file holds is kept by its service.
    kept = secret_keys and not (project / name).exists()
    if not kept and file is None:
        _complete(project / name, {key: encrypted[key] for key in encrypted.keys() - secret_keys})
    return load_stack(
        "staging",
        values,
        {*secret_keys, *with_secrets},
        project,
        file or (StackFile(name, {}, imports=True) if kept else None),
    )


_WRITTEN = "# As a test has passed it.\n"


def _complete(file: Path, sections: Mapping[str, Any]) -> None:
    """Write the sections that a stack's file lacks; one that this has written is written anew."""
    text = file.read_text() if file.exists() else ""
    text = "" if text.startswith(_WRITTEN) else text
    try:
        content = yaml.safe_load(text) or {}
    except yaml.YAMLError:
        return
    config = content.get("config", {}) if isinstance(content, dict) else None
    if not isinstance(config, dict):
        return
    written = {str(key).rpartition(":")[2] for key in config}
    project = yaml.safe_load((file.parent / "Pulumi.yaml").read_text())
    shared = {str(key).rpartition(":")[2].split(".")[0].split("[")[0] for key in project.get("config", ())}
    missing = [
        f"  {project['name']}:{key}: {json.dumps(value)}\n"
        for key, value in sections.items()
        if key not in written | shared
    ]
    if not missing:
        return
    start = "" if text.endswith("\n") or not text else "\n"
    if "\nconfig:\n" in f"\n{text}":
        file.write_text(f"{text}{start}{''.join(missing)}")
    elif "config" not in content:
        file.write_text(f"{text or _WRITTEN}{start}config:\n{''.join(missing)}")


def _encrypted(value: Any) -> Any:
    """A value as the stack's file holds it."""
    if isinstance(value, Secret):
        return {"secure": "v1:AAAA"}
    if isinstance(value, dict):
        return {key: _encrypted(item) for key, item in value.items()}
    return [_encrypted(item) for item in value] if isinstance(value, list) else value


def problems(project: Path, **stack: Any) -> list[str]:
    """Each problem of such a stack as `file: path: message`. All of them have a code."""
    with pytest.raises(ConfigurationError) as refused:
        load(project, **stack)
    found = refused.value.problems
    assert [problem for problem in found if not problem.code] == []
    return [": ".join(filter(None, (problem.file, problem.path, problem.message))) for problem in found]


def refusals(project: Path, **stack: Any) -> list[str]:
    """The path and the code of each problem of such a stack, as `path code`; none repeats the secret `s3cret`."""
    with pytest.raises(ConfigurationError) as refused:
        load(project, **stack)
    assert "s3cret" not in str(refused.value)
    return [f"{problem.path} {problem.code}" for problem in refused.value.problems]


def flux_config(**keys: Any) -> FluxConfig:
    return FluxConfig.model_validate(FLUX | keys)


def git_source(**keys: Any) -> GitSource:
    """The source of the tenant dev-team; `keys` replace what it says."""
    return GitSource.model_validate({"url": "https://git.example.com/dev-team/apps"} | keys)


def tenant_config(**keys: Any) -> TenantConfig:
    """The tenant dev-team; `keys` replace what it says."""
    tenant = {"namespaces": [{"name": "apps"}], "source": {"url": "https://git.example.com/dev-team/apps"}}
    return TenantConfig.model_validate(tenant | keys)


def removal(listed: Collection[str] = ("dev-team",)) -> Offboarding:
    """What a Tenant needs to be removed, for a program that removes none."""
    return Offboarding(cast(ApiClient, None), listed, Hook)


class Hook(pulumi.ErrorHook):
    """A hook that no engine knows."""

    def __init__(self, name: str, func: pulumi.ErrorHookFunction) -> None:
        self.name, self.callback = name, func
        self._registered = asyncio.get_event_loop().create_future()
        self._registered.set_result(None)
