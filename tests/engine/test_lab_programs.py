"""The lab's Go programs pass their own tests and go vet."""

from __future__ import annotations

import subprocess

import pytest

from dev.lab.build_key import COMPILED_ALIKE
from dev.lab.go_command import Go
from dev.lab.settings import Settings
from dev.lab.tool_cache import ToolCache
from dev.lab.tools_table import modules_folder


@pytest.mark.parametrize(
    ("module", "packages"),
    [
        # It compiles much of Kubernetes, and every cluster of the tests runs the node agent.
        pytest.param("kubernetes", "./node-agent/...", marks=pytest.mark.exhaustive),
        ("github-proxy", "./..."),
    ],
)
def test_the_labs_own_programs_pass_their_tests(module: str, packages: str) -> None:
    settings = Settings.load()
    cache = ToolCache(settings.cache)
    go = Go(cache.go_cache, cache.work)
    # Compiled as the tools are, of what is still there of them. `make lint` leaves go vet of the larger one to this.
    test = [go.executable, "test", *COMPILED_ALIKE, "-vet=all", packages]
    done = subprocess.run(
        test,
        cwd=modules_folder(settings.project) / module,
        env=go.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
