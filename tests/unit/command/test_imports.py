"""Commands import what they need: neither the clients of a cluster for a review, nor the whole program for a look."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sample_project import write_project, write_stack

CLIENTS = ("github", "httpx", "kubernetes", "requests")
CHECKOUT = Path(__file__).parents[3]
# Prints the modules of the product that have more than a docstring, and whether all sections of a stack are loaded.
COUNT = """
import ast
own = [each for name, each in sys.modules.items() if name.partition(".")[0] == "flux_tenancy" and each.__file__]
print(sum(len(ast.parse(Path(each.__file__).read_bytes()).body) > 1 for each in own))
print("flux_tenancy.components.stack.config" in sys.modules)
"""
COMMANDS = {
    "pulumi up": ("import flux_tenancy.program", 120),
    "flux-tenancy review diff": (
        "from flux_tenancy.command.app import app\napp(['review', 'diff'], standalone_mode=False)",
        130,
    ),
    # Without a cluster, it ends before it compares anything.
    "flux-tenancy drift show": (
        "import flux_tenancy.command.app, flux_tenancy.command.drift, flux_tenancy.operations.drift.text\n"
        "from flux_tenancy.operations.stack.connected import described_cluster\n"
        "described_cluster('staging', Path())",
        90,
    ),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A clone in which the stack is new: at the merge base, another process would render it."""
    folder = write_project(tmp_path / "project")
    (folder / "tenants" / "dev-team.yaml").touch()
    for command in (["init", "-qb", "main"], ["add", "."], ["commit", "-qm", "First"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@localhost", *command], cwd=folder, check=True)
    write_stack(folder)
    return folder


def run(program: str, project: Path) -> list[str]:
    """What a program prints that runs in a new process and in the project's folder."""
    program = f"import os, sys\nfrom pathlib import Path\nsys.path.insert(0, {str(CHECKOUT)!r})\n{program}"
    # The release of the tests is too small for offline-admission, which may be in the user's cache.
    environ = os.environ | {"FLUX_TENANCY_CACHE": str(project.parent / "cache")}
    done = subprocess.run([sys.executable, "-c", program], cwd=project, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_commands_for_reviewers_import_no_client_of_a_cluster_or_of_the_network(project: Path) -> None:
    program = f"""
from flux_tenancy.command.app import app
for command in ("render", "diff", "policy"):
    ended = app(["review", command], standalone_mode=False)
    assert not ended, (command, ended)
print(*sorted({{*{CLIENTS}}} & {{*sys.modules}}))
"""
    assert run(program, project)[-1] == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_imports_few_modules(project: Path, command: str) -> None:
    """Each takes time to load, and a maintainer to read."""
    program, most = COMMANDS[command]

    *_, count, has_all_sections = run(f"{program}\n{COUNT}", project)

    assert int(count) <= most
    # Of a stack's file, a look at the cluster needs one section; to import all takes longer than its comparison.
    assert (has_all_sections == "False") is (command == "flux-tenancy drift show")
