"""`pulumi new` with `template/`: a project of one's own that can be applied."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from dev.lab.control_plane import NODE_NAME
from tests.support.api_server import ApiServer, api_server
from tests.support.lab import Lab
from tests.support.project import CHECKOUT

TEMPLATE = CHECKOUT / "flux_tenancy" / "template"
NAME = "my-platform"
STACK = "dev"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("api")) as running:
        yield running


@pytest.fixture(scope="module")
def project(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The new project. The virtual environment is there already, so that `pulumi new` has no packages to download."""
    folder = tmp_path_factory.mktemp("new") / NAME
    folder.mkdir()
    (folder / ".venv").symlink_to(CHECKOUT / ".venv")
    # `--force`, since Pulumi refuses a folder that holds anything.
    arguments = ["new", str(TEMPLATE), "--name", NAME, "--stack", STACK, "--yes", "--offline", "--force"]
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
    lab: Lab, project: Path, server: ApiServer
) -> None:
    stack_file = project / f"Pulumi.{STACK}.yaml"
    content = yaml.safe_load(stack_file.read_text())
    content["config"] |= yaml.safe_load((project / "Pulumi.stack.example").read_text())["config"]
    stack_file.write_text(yaml.safe_dump(content))
    # A tenant without a key: nothing is registered at github.com.
    tenant = project / "tenants" / "my-team.yaml"
    source = {"url": "https://git.example.com/my-team/apps"}
    policies = {"sources": ["https://git.example.com/*"]}
    tenant.write_text(yaml.safe_dump(yaml.safe_load(tenant.read_text()) | {"source": source, "policies": policies}))
    release = lab.bundle()
    settings = {
        "cluster.kubeconfig": str(server.kubeconfig),
        "cluster.context": NODE_NAME,
        "flux.version": release["version"],
        "flux.sha256": release["sha256"],
        "flux.manifests.bundle": release["manifests"]["bundle"],
    }
    entries = (part for key, value in settings.items() for part in ("--plaintext", f"{key}={value}"))
    pulumi(lab, project, "config", "set-all", "--path", *entries)

    steps = json.loads(pulumi(lab, project, "preview", "--json"))["steps"]

    created = {step["urn"].rpartition("::")[2] for step in steps if step["op"] == "create"}
    assert {
        "flux-system",
        "flux-system/kustomize-controller",
        "flux-tenancy-tenant-service-account",
        "my-team",
    } <= created
    assert all(f"::{NAME}::" in step["urn"] for step in steps)
