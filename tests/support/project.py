"""The real program in a test's own project folder, with stacks and tenants that the test writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from dev.lab.pulumi import LAB_PASSPHRASE, LabPulumi
from flux_tenancy.components.config.yaml_files import Dumper
from flux_tenancy.operations.update import environment
from tests.support.passphrase import encrypted

CHECKOUT = Path(__file__).parents[2]
NAME = "flux-tenancy"
PROGRAM = ("__main__.py", "Pulumi.yaml", "flux_tenancy")
ENVIRONMENT = Path(sys.prefix)
"""The packages with which the tests run, and so the program: another environment tests other versions of them."""


@dataclass(frozen=True)
class Outcome:
    """How a `pulumi` command ended."""

    succeeded: bool
    text: str


class Project:
    """A Pulumi project on the lab's own backend.

    An update runs as by `flux-tenancy up`; `tests.support.killing` runs updates that write the state all the time.

    Attributes:
        folder: of the project.
        name: the project's name.
    """

    def __init__(self, folder: Path, pulumi: LabPulumi, name: str = NAME) -> None:
        self.folder = folder
        self.name = name
        self._pulumi = pulumi
        self._stacks: set[str] = set()
        (folder / "tenants").mkdir(parents=True)
        self._use(CHECKOUT)

    def _use(self, checkout: Path) -> None:
        environment = ENVIRONMENT if checkout == CHECKOUT else checkout / ".venv"
        for part in (*(checkout / part for part in PROGRAM), environment):
            link = self.folder / (".venv" if part == environment else part.name)
            link.unlink(missing_ok=True)
            link.symlink_to(part)
        if self.name != NAME:
            project = self.folder / "Pulumi.yaml"
            text = project.read_text()
            project.unlink()
            project.write_text(text.replace(f"name: {NAME}\n", f"name: {self.name}\n"))

    @contextmanager
    def using(self, checkout: Path) -> Iterator[None]:
        """Run the program of another checkout during the block."""
        self._use(checkout)
        try:
            yield
        finally:
            self._use(CHECKOUT)

    def tenant(self, name: str, base: dict[str, Any] | str) -> None:
        """Write the base file of a tenant."""
        text = base if isinstance(base, str) else yaml.safe_dump(base)
        (self.folder / "tenants" / f"{name}.yaml").write_text(text)

    def stack(self, name: str, **sections: Any) -> None:
        """Write the stack's configuration, but keep Pulumi's own entries."""
        file = self.folder / f"Pulumi.{name}.yaml"
        content = yaml.safe_load(file.read_text()) if file.exists() else {}
        content["config"] = {
            "pulumi:disable-default-providers": ["*"],
            **{f"{self.name}:{section}": value for section, value in sections.items()},
        }
        file.write_text(yaml.dump(content, Dumper=Dumper))
        if name not in self._stacks:
            self._select(name)
            self._stacks.add(name)

    def _select(self, name: str) -> None:
        self._pulumi.select(name, self.folder)

    def secret(self, stack: str, text: str) -> dict[str, str]:
        """A text as the stack file has it, encrypted with the stack's salt."""
        file = self.folder / f"Pulumi.{stack}.yaml"
        if not file.exists():
            self.stack(stack)
        salt = yaml.safe_load(file.read_text())["encryptionsalt"]
        # As `pulumi config set` does with what it reads.
        return {"secure": encrypted(text.removesuffix("\n"), salt, LAB_PASSPHRASE)}

    @contextmanager
    def in_environment(self) -> Iterator[None]:
        """Let commands in this process reach the state of the project's stacks during the block."""
        with mock.patch.dict(os.environ, self._pulumi.on_path()):
            yield

    def run(self, *arguments: str, stdin: str | None = None) -> Outcome:
        done = self._run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, input=stdin)
        return Outcome(done.returncode == 0, done.stdout)

    def up(self, stack: str) -> Outcome:
        return self.run("up", "--yes", "--skip-preview", "--stack", stack)

    def destroy(self, stack: str) -> Outcome:
        return self.run("destroy", "--yes", "--skip-preview", "--stack", stack)

    def changes(self, stack: str) -> dict[str, list[str]]:
        """What a preview would change: operation and changed keys of each resource, by `Kind name`."""
        return {
            _short(step["urn"]): [step["op"], *sorted(step.get("detailedDiff") or ())] for step in self.steps(stack)
        }

    def imports(self, stack: str) -> list[str]:
        """What a preview would import, by `Kind name`."""
        return [_short(step["urn"]) for step in self.steps(stack) if step["op"] == "import"]

    def steps(self, stack: str) -> list[dict[str, Any]]:
        """The steps of a preview that change something, as `pulumi preview --json` prints them."""
        done = self._run(["preview", "--json", "--stack", stack], capture_output=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return [step for step in json.loads(done.stdout)["steps"] if step["op"] != "same"]

    def outputs(self, stack: str) -> dict[str, Any]:
        found = next(each for each in self.state(stack) if each["type"] == "pulumi:pulumi:Stack")
        outputs: dict[str, Any] = found.get("outputs", {})
        return outputs

    def resources(self, stack: str) -> list[str]:
        """The resources in the state, as `Kind name`."""
        return [_short(entry["urn"]) for entry in self.state(stack)]

    def state(self, stack: str) -> list[dict[str, Any]]:
        """The resources of the state as the backend's file has them, with encrypted secrets."""
        file = self._pulumi.folder / "backend" / ".pulumi" / "stacks" / self.name / f"{stack}.json"
        latest: dict[str, Any] = json.loads(file.read_text())["checkpoint"]["latest"] or {}
        return latest.get("resources") or []

    def exported(self, stack: str) -> list[dict[str, Any]]:
        """The resources of the state as Pulumi exports them, with their secrets in plain text."""
        done = self._run(["stack", "export", "--show-secrets", "--stack", stack], capture_output=True)
        resources: list[dict[str, Any]] = json.loads(done.stdout)["deployment"].get("resources", [])
        return resources

    def _run(self, arguments: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        # Between a refresh and the program, which reads its result, the state has to be written.
        environ = os.environ if "--refresh" in arguments else environment(os.environ)
        return self._pulumi.run(arguments, self.folder, environ, **options)


def _short(urn: str) -> str:
    *_, kinds, name = urn.split("::")
    return f"{kinds.split(':')[-1]} {name}"


def flux_tenancy(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command `flux-tenancy` in a project as users run it, with this process's environment."""
    command = [sys.executable, "-m", "flux_tenancy.command", "--cwd", str(project), *arguments]
    return subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
