"""What a `pulumi` that is killed during an update leaves behind, with the real engine and plugin."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from dev.lab.shell import exports
from tests.support.lab import Lab, eventually
from tests.support.project import CHECKOUT

PROJECT = f"""name: killed
runtime: {{name: python, options: {{virtualenv: {CHECKOUT / ".venv"}}}}}
config: {{"pulumi:disable-default-providers": {{value: ["*"]}}}}
"""

# The provider has its kubeconfig by then, and the program waits for something, as the real one does now and then.
PROGRAM = """import time
from pathlib import Path
import pulumi_kubernetes as kubernetes

KUBECONFIG = '{"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}]}'
kubernetes.Provider("cluster", kubeconfig=KUBECONFIG).id.apply(lambda _: Path("waiting").touch() or time.sleep(600))
"""
STACK = "killed"


@pytest.fixture
def project(lab: Lab, tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "Pulumi.yaml").write_text(PROJECT)
    (tmp_path / "__main__.py").write_text(PROGRAM)
    lab.pulumi.select(STACK, tmp_path)
    yield tmp_path
    assert lab.pulumi.run(["cancel", "--yes", "--stack", STACK], tmp_path, capture_output=True).returncode == 0
    lab.pulumi.remove(STACK, tmp_path)


def started(lab: Lab) -> dict[int, str]:
    """The processes that have the token of the lab's Git host in their environment: id and command line."""
    found = {}
    for process in psutil.process_iter():
        try:
            if process.environ().get("GITHUB_TOKEN") == lab.git.token() and process.pid != os.getpid():
                found[process.pid] = " ".join(process.cmdline())
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def test_a_pulumi_that_is_killed_in_an_update_leaves_no_process_and_no_kubeconfig(
    lab: Lab, project: Path, tmp_path: Path
) -> None:
    """Typed in a shell after `make env`."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    typed = f'{exports(lab.settings)}\nexec pulumi up --yes --skip-preview --stack {STACK} --cwd "{project}"'
    engine = subprocess.Popen(
        ["sh", "-c", typed],
        env={"PATH": os.defpath, "HOME": str(tmp_path), "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
    )
    eventually((project / "waiting").exists, what="the program")
    running = started(lab)
    for part in ("pulumi-resource-kubernetes", "dev.lab.language_host", "language_host/program.py"):
        assert any(part in command for command in running.values()), f"{part} is not among {running}"

    os.kill(engine.pid, signal.SIGKILL)
    engine.wait()

    eventually(lambda: not started(lab), what=f"the end of {running}")
    runs = lab.pulumi.folder / "runs"
    eventually(lambda: not list(runs.iterdir()), what="the end of the temporary files")
    assert not list(temporary.iterdir())
