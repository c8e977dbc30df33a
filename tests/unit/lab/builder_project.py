"""A small checkout for the tests of the builder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dev.lab.settings import Settings

_ALPHA = {
    "name": "alpha",
    "module": "m",
    "package": "example.org/alpha",
    "room": {"compiled": 0.1, "kept": 0.1},
}
_PINS = {"alpha": "v1.2.3", "shared": "v1.0.0", "files": "v1.0.0"}
_BETA = {"name": "beta", "module": "m", "package": "./beta", "room": {"compiled": 0.1, "kept": 0.1}}


@dataclass
class BuilderProject:
    """A small checkout with one module of two tools: alpha with source from another module, beta with its own."""

    settings: Settings
    build_log: Path

    @property
    def module(self) -> Path:
        return self.settings.project / "dev/lab/tools/m"

    def write_table(self, *tools: dict[str, Any]) -> None:
        (self.settings.project / "dev/lab/tools.yaml").write_text(yaml.safe_dump(list(tools)))

    def change_tool(self, tool: str, **fields: object) -> None:
        """Rewrites the table, with other values for one of its tools."""
        table = yaml.safe_load((self.settings.project / "dev/lab/tools.yaml").read_text())
        self.write_table(*[entry | fields if entry["name"] == tool else entry for entry in table])

    def pin(self, **versions: str) -> None:
        """Writes go.mod with modules example.org/<name>, with other versions of these."""
        lines = "".join(f"\texample.org/{name} {version}\n" for name, version in (_PINS | versions).items())
        (self.module / "go.mod").write_text(f"module own\n\ngo 1.26.0\n\nrequire (\n{lines})\n")

    def builds(self) -> list[str]:
        """The packages that were compiled since the last call."""
        lines = self.build_log.read_text().splitlines() if self.build_log.exists() else []
        self.build_log.unlink(missing_ok=True)
        return lines


def make_project(folder: Path) -> BuilderProject:
    """A checkout with both tools, none of them built yet."""
    settings = Settings(project=folder / "checkout", cache=folder / "cache", state=folder / "state", port_base=0)
    project = BuilderProject(settings, folder / "builds.log")
    (project.module / "beta").mkdir(parents=True)
    (project.module / "beta/main.go").write_text("package main\n")
    (project.module / "go.sum").write_text("")
    packages = {
        "example.org/alpha": ["example.org/shared", "example.org/alpha"],
        "./beta": ["example.org/shared"],
    }
    (project.module / "packages.json").write_text(json.dumps(packages))
    project.pin()
    project.write_table(_ALPHA, _BETA)
    return project
