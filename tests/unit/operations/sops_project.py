"""A project with two stacks, and a Pulumi that writes what it is told into the files, and keeps secrets to itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from flux_tenancy.command.app import app
from flux_tenancy.operations.pulumi_config import PulumiConfig

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
        secrets: what was handed over to be encrypted, by stack and path.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.secrets: dict[tuple[str, str], str] = {}
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
        done = CliRunner().invoke(app, ["key", *arguments])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.stdout, done.stderr

    def told(self, *arguments: str) -> str:
        """What a command prints that ends well."""
        code, out, error = self.run(*arguments)
        assert (code, error) == (0, "")
        return out

    def refused(self, *arguments: str) -> str:
        """What a command says that changes nothing."""
        before = {file: file.read_text() for file in self.folder.rglob("*") if file.is_file()}
        code, out, error = self.run(*arguments)
        assert (code, out) == (2, "")
        assert {file: file.read_text() for file in self.folder.rglob("*") if file.is_file()} == before
        return error

    def kept(self, path: str, stack: str = "staging") -> str:
        """What was handed over to be encrypted."""
        return self.secrets[stack, path]

    def said(self, *path: str, stack: str = "staging") -> object:
        """What the stack file says in plain text."""
        found = yaml.safe_load((self.folder / f"Pulumi.{stack}.yaml").read_text())["config"]
        for key in (f"flux-tenancy:{path[0]}", *path[1:]):
            found = found[key]
        return found

    def _pulumi(self, config: PulumiConfig, action: list[str], path: str, value: str = "") -> str:
        """What `pulumi config set`, `get` and `rm` with `--path` do."""
        if action == ["get"]:
            return self.secrets[config.stack, path]
        file = self.folder / f"Pulumi.{config.stack}.yaml"
        content = yaml.safe_load(file.read_text())
        first, *keys, last = re.findall(r"[^.\[\]]+", path)
        place = content["config"]
        for key, following in zip([f"flux-tenancy:{first}", *keys], [*keys, last], strict=True):
            if place.get(key) is None:
                place[key] = [] if following.isdigit() else {}
            place = place[key]
        if action == ["rm"]:
            place.pop(last, None)
        elif action == ["set", "--secret"]:
            self.secrets[config.stack, path] = value.rstrip()
            place[last] = {"secure": "v1:AAAA"}
        else:
            assert (action, int(last)) == (["set", "--plaintext"], len(place))
            place.append(value)
        file.write_text(yaml.safe_dump(content))
        return ""
