"""`template/`: the project that users get runs the program of this repository, at its version."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from typer.testing import CliRunner

from flux_tenancy.command.app import app
from flux_tenancy.components.engine.code import requirement_files
from flux_tenancy.operations.schemas import FOLDER, STACK_SCHEMA, TENANT_SCHEMA, stack_schema, tenant_schema
from flux_tenancy.version import VERSION
from tests.support.releases import FLUX_VERSION

CHECKOUT = Path(__file__).parents[2]
TEMPLATE = CHECKOUT / "flux_tenancy" / "template"


def test_it_runs_the_same_program_as_this_repository() -> None:
    assert (TEMPLATE / "__main__.py").read_text() == (CHECKOUT / "__main__.py").read_text()


@pytest.mark.parametrize(
    ("file", "schema"),
    [("Pulumi.stack.example", stack_schema("my-platform")), ("tenants/my-team.yaml", tenant_schema())],
)
def test_its_files_hold_to_the_schemas_that_they_name(file: str, schema: dict[str, Any]) -> None:
    text = (
        (TEMPLATE / file)
        .read_text()
        .replace("${PROJECT}", "my-platform")
        .replace("<digest of install.yaml>", "5f" * 32)
    )
    named = text.splitlines()[0].removeprefix("# yaml-language-server: $schema=")

    jsonschema.validate(yaml.safe_load(text), schema)
    assert (TEMPLATE / file).parent.joinpath(named).resolve().parent == TEMPLATE / FOLDER
    assert Path(named).name in (STACK_SCHEMA, TENANT_SCHEMA)


def test_it_pins_this_version_and_the_packages_that_it_is_tested_with() -> None:
    lines = (TEMPLATE / "requirements.txt").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == [
        f"flux-tenancy=={VERSION}",
        "--constraint constraints.txt",
    ]
    # A test of the reference pages holds its content.
    assert requirement_files(TEMPLATE) == [TEMPLATE / "requirements.txt", TEMPLATE / "constraints.txt"]


def test_its_stack_has_the_newest_release_of_flux_that_is_tested() -> None:
    config = yaml.safe_load((TEMPLATE / "Pulumi.stack.example").read_text())["config"]
    assert config["${PROJECT}:flux"]["version"] == FLUX_VERSION


def test_the_page_shows_the_files_that_the_command_writes(tmp_path: Path) -> None:
    page = (CHECKOUT / "docs" / "install.md").read_text().partition("\n## GitHub and EKS")[0]
    [command] = re.findall(r"flux-tenancy (new .*)", page)
    folder = tmp_path / "my-platform"
    folder.mkdir()

    done = CliRunner().invoke(app, [str(folder) if word == folder.name else word for word in command.split()])

    assert done.exit_code == 0, done.output
    shown = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert shown == [(folder / name).read_text() for name in ("Pulumi.eu-1.yaml", "tenants/my-team.yaml")]
    assert f"has {sum(each.is_file() for each in folder.rglob('*'))} files" in page
