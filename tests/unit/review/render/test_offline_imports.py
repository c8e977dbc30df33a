"""Commands that need no cluster and no network do not wait for the clients of either to be imported."""

from __future__ import annotations

import subprocess
import sys

CLIENTS = ("github", "httpx", "kubernetes", "requests")
COMMANDS = ("diff", "policy", "render")


def test_commands_for_reviewers_import_no_client_of_a_cluster_or_of_the_network() -> None:
    program = f"""
import importlib, sys
for command in {COMMANDS}:
    importlib.import_module(f"review.commands.{{command}}")
print(*sorted({{*{CLIENTS}}} & {{*sys.modules}}))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
