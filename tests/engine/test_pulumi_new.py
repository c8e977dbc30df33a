"""`pulumi new` with a clone of this repository as the template: a project of one's own that can be applied."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.lab import Lab, RunningCluster
from tests.support.project import CHECKOUT

NAME = "my-platform"
STACK = "dev"


@pytest.fixture(scope="module")
def cluster(lab: Lab) -> Iterator[RunningCluster]:
    with lab.cluster(STACK) as running:
        yield running


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a clone of the repository holds."""
    folder = tmp_path_factory.mktemp("template") / "clone"
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    files = subprocess.run(listed, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout.split("\0")
    for file in filter(lambda name: name and (CHECKOUT / name).is_file(), files):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CHECKOUT / file, folder / file)
    return folder


@pytest.fixture(scope="module")
def project(lab: Lab, template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The new project. The virtual environment is there already, so that `pulumi new` has no packages to download."""
    folder = tmp_path_factory.mktemp("new") / NAME
    folder.mkdir()
    (folder / ".venv").symlink_to(CHECKOUT / ".venv")
    # `--force`, since Pulumi refuses a folder that holds anything.
    arguments = ["new", str(template), "--name", NAME, "--stack", STACK, "--yes", "--offline", "--force"]
    pulumi(lab, folder, *arguments)
    return folder


def pulumi(lab: Lab, folder: Path, *arguments: str) -> str:
    # Whatever `pulumi new` installs is installed already.
    done = lab.pulumi.run(arguments, folder, os.environ | {"PIP_NO_INDEX": "1"}, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


def test_the_project_has_its_own_name_and_no_template(project: Path) -> None:
    content = yaml.safe_load((project / "Pulumi.yaml").read_text())
    assert content["name"] == NAME
    assert content["runtime"]["options"] == {"toolchain": "pip", "virtualenv": ".venv"}
    assert "template" not in content


def test_the_stack_configures_its_providers_itself(project: Path) -> None:
    content = yaml.safe_load((project / f"Pulumi.{STACK}.yaml").read_text())
    assert json.loads(content["config"]["pulumi:disable-default-providers"]) == ["*"]


def test_the_next_steps_of_the_template_lead_to_a_stack_that_can_be_applied(
    lab: Lab, project: Path, cluster: RunningCluster
) -> None:
    for file in (*project.glob("Pulumi.*.yaml"), *project.glob("tenants/*.yaml")):
        if file.name != f"Pulumi.{STACK}.yaml":
            file.unlink()
    release = lab.bundle()
    settings = {
        "cluster.kubeconfig": str(cluster.kubeconfig),
        "cluster.context": cluster.name,
        "flux.version": release["version"],
        "flux.sha256": release["sha256"],
        "flux.manifests.bundle": release["manifests"]["bundle"],
    }
    for key, value in settings.items():
        pulumi(lab, project, "config", "set", "--path", key, value)

    steps = json.loads(pulumi(lab, project, "preview", "--json"))["steps"]

    created = {step["urn"].rpartition("::")[2] for step in steps if step["op"] == "create"}
    assert {"flux-system", "flux-system/kustomize-controller", "flux-tenancy-tenant-service-account"} <= created
    assert all(f"::{NAME}::" in step["urn"] for step in steps)


def test_its_schemas_know_its_own_name(project: Path) -> None:
    done = subprocess.run(
        [project / ".venv" / "bin" / "python", "-m", "reference.schemas"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    schema = json.loads((project / "schemas" / "stack.schema.json").read_text())
    assert f"{NAME}:cluster" in schema["properties"]["config"]["properties"]
