"""Every command checks the names of its stacks before it does anything."""

from __future__ import annotations

from importlib import import_module

import pytest
from typer.testing import CliRunner

COMMANDS = {
    "operations.deploy_key": ["dev-team"],
    "operations.drift": [],
    "operations.previewer_role": [],
    "operations.repair": [],
    "operations.sops_key": ["dev-team"],
    "operations.tenant": ["suspend", "dev-team"],
    "operations.tenants": [],
    "review.commands.access": [],
    "review.commands.approval": ["--digest", "sha256:0"],
    "review.commands.diff": [],
    "review.commands.policy": [],
    "review.commands.render": ["--out", "out"],
}


@pytest.mark.parametrize("module", COMMANDS)
@pytest.mark.parametrize("stack", ["..", "a;b", "acme/../staging"])
def test_a_name_that_no_stack_may_have_is_refused(module, stack, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = COMMANDS[module]

    refused = CliRunner().invoke(import_module(module).app, [*arguments, "--stack", stack])

    assert refused.exit_code in (1, 2) and refused.stdout == ""
    assert refused.stderr.startswith(f"error: Pulumi.{stack}.yaml: {stack!r} is not") and "FT-CFG-630" in refused.stderr
    assert list(tmp_path.iterdir()) == []
