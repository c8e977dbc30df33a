"""Commands that need no cluster and no network do not wait for the clients of either to be imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from sample_project import write_project, write_stack

CLIENTS = ("github", "httpx", "kubernetes", "requests")
CHECKOUT = Path(__file__).parents[3]


def test_commands_for_reviewers_import_no_client_of_a_cluster_or_of_the_network(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project")
    (project / "tenants" / "dev-team.yaml").touch()
    for command in (["init", "-qb", "main"], ["add", "."], ["commit", "-qm", "First"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@localhost", *command], cwd=project, check=True)
    # Not at the merge base, which another process would render.
    write_stack(project)
    program = f"""
import os, sys
sys.path.insert(0, {str(CHECKOUT)!r})
from flux_tenancy.command.app import app
os.chdir({str(project)!r})
for command in ("render", "diff", "policy"):
    ended = app(["review", command], standalone_mode=False)
    assert not ended, (command, ended)
print(*sorted({{*{CLIENTS}}} & {{*sys.modules}}))
"""
    # The release of the tests is too small for offline-admission, which may be in the user's cache.
    environ = os.environ | {"FLUX_TENANCY_CACHE": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == ""


def test_a_look_at_the_cluster_does_not_load_every_section_of_a_stack(tmp_path: Path) -> None:
    """Of a stack's file, `drift show` needs the cluster; importing all sections takes longer than its comparison."""
    project = write_project(tmp_path / "project")
    write_stack(project)
    program = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(CHECKOUT)!r})
from flux_tenancy.operations.drift import text
from flux_tenancy.operations.stack.connected import described_cluster
described_cluster("staging", Path({str(project)!r}))
own = {{name: each for name, each in sys.modules.items() if name.startswith("flux_tenancy.")}}
loaded = [name for name, each in own.items() if not hasattr(each, "__path__")]
print(len(loaded), "flux_tenancy.components.stack.config" in loaded)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    count, everything = done.stdout.split()
    assert everything == "False"
    assert int(count) <= 80
