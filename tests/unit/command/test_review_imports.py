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
