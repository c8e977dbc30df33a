"""git needs no setup in a shell after `make env`, at the real Git host."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from dev.lab.shell import exports
from tests.support.lab import Lab

WORK = """
set -e
{exports}
git clone --quiet {url} clone
cd clone
echo changed > welcome.yaml
git add .
git commit --quiet -m 'Change the welcome'
git push --quiet
git log -1 --format=%ae origin/main
"""


@pytest.mark.parametrize("way", ["url", "https_url"])
def test_clone_commit_and_push_need_no_input(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("EMAIL", "GIT_AUTHOR_EMAIL"):
        monkeypatch.delenv(name, raising=False)
    lab.repository(f"shell-{way.replace('_', '-')}", "apps", {"welcome.yaml": "hello\n"}, tmp_path, private=True)
    url = getattr(lab.git, way)(f"shell-{way.replace('_', '-')}", "apps")

    done = subprocess.run(
        ["sh", "-c", WORK.format(exports=exports(lab.settings), url=url)],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_TERMINAL_PROMPT": "0"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == "lab@localhost.invalid\n"
