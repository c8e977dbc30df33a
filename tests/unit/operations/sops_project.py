"""A project with two stacks, and a Pulumi whose encryption a test can undo."""

from __future__ import annotations

from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import invoke, refusal, told

from flux_tenancy.operations.stack.pulumi_cli import PulumiConfig

STACK = """\
config:
  flux-tenancy:flux: {sync: {source: {url: https://git.example.com/fleet}}}
  flux-tenancy:tenants:
    dev-team: {sync: {path: ./%s}}
    ops-team:
"""
BASE = "namespaces: [{name: apps}]\nsource: {url: https://git.example.com/apps}\n"


class Project:
    """Such a project.

    Attributes:
        folder: where it lies.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        monkeypatch.delenv("PULUMI_STACK", raising=False)
        monkeypatch.chdir(folder)
        monkeypatch.setattr(PulumiConfig, "_run", lambda config, *arguments: self._pulumi(config, *arguments))
        (folder / "Pulumi.yaml").write_text("name: flux-tenancy\n")
        (folder / "tenants").mkdir()
        for tenant in ("dev-team", "ops-team"):
            (folder / f"tenants/{tenant}.yaml").write_text(BASE)
        for stack in ("staging", "production"):
            (folder / f"Pulumi.{stack}.yaml").write_text(STACK % stack)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        return invoke("key", *arguments)

    def told(self, *arguments: str) -> str:
        """What a command prints that ends well."""
        return told(invoke("key", *arguments))

    def refused(self, *arguments: str) -> str:
        """What a command says that changes nothing."""
        before = {file: file.read_text() for file in self.folder.rglob("*") if file.is_file()}
        error = refusal(invoke("key", *arguments))
        assert {file: file.read_text() for file in self.folder.rglob("*") if file.is_file()} == before
        return error

    def kept(self, path: str, stack: str = "staging") -> str:
        """What the stack file has encrypted."""
        return b64decode(self.said(*path.split("."), stack=stack)["secure"].removeprefix("v1:")).decode()

    def said(self, *path: str, stack: str = "staging") -> Any:
        """What the stack file says."""
        found = yaml.safe_load((self.folder / f"Pulumi.{stack}.yaml").read_text())["config"]
        for key in (f"flux-tenancy:{path[0]}", *path[1:]):
            found = found[key]
        return found

    def _pulumi(self, config: PulumiConfig, action: list[str], path: str, value: str = "") -> str:
        """What `pulumi config get` and `set --secret --config-file` do."""
        if action == ["get"]:
            return self.kept(path, config.stack)
        *options, file = action
        assert options == ["set", "--secret", "--config-file"]
        Path(file).write_text(yaml.safe_dump({"config": {f"flux-tenancy:{path}": {"secure": sealed(value)}}}))
        return ""


def sealed(value: str) -> str:
    """A value as this Pulumi encrypts it."""
    return f"v1:{b64encode(value.encode()).decode()}"
