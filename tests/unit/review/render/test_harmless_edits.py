"""Edits that change nothing of an update need no approval: 40 of them, each with the digest of before."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from sample_project import write_project, write_stack

from flux_tenancy.review.render.stack import render_stack

BASE = """\
namespaces:
  - name: apps
source:
  url: https://git.example.com/dev-team/apps
sync:
  path: ./staging
"""
STACK = "Pulumi.staging.yaml"


def added(name: str, text: str = "text\n") -> Callable[[Path], None]:
    def edit(project: Path) -> None:
        file = project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    return edit


def replaced(name: str, pattern: str, by: str) -> Callable[[Path], None]:
    def edit(project: Path) -> None:
        before = (project / name).read_text()
        after = re.sub(pattern, by, before, count=1, flags=re.MULTILINE)
        assert after != before
        (project / name).write_text(after)

    return edit


def with_crlf(project: Path) -> None:
    (project / "__main__.py").write_bytes((project / "__main__.py").read_bytes().replace(b"\n", b"\r\n"))


EDITS: dict[str, Callable[[Path], None]] = {
    **{
        f"a new file {name}": added(name)
        for name in (
            *("README.md", "docs/page.md", "docs/image.svg", "LICENSE", "CHANGELOG.md", ".gitignore", ".editorconfig"),
            *(".gitattributes", ".pre-commit-config.yaml", "renovate.json", "Makefile", "notes.txt", "schemas/a.json"),
            *("scripts/check.sh", "fleet.yaml", "tenants/README.md", "tenants/other.yaml", "Pulumi.other.yaml"),
            *(".vscode/settings.json", ".github/dependabot.yml", ".github/ISSUE_TEMPLATE/bug.md", "mkdocs.yml"),
            *("yaml/values.yaml", "json/a.json", ".python-version", "requirements.in", "CONTRIBUTING.md"),
        )
    },
    "a comment in the stack's file": replaced(STACK, "^config:", "# why\nconfig:"),
    "a comment in the tenant's file": replaced("tenants/dev-team.yaml", "^sync:", "# why\nsync:"),
    "a comment in Pulumi.yaml": replaced("Pulumi.yaml", "^name:", "# why\nname:"),
    "quotes in the stack's file": replaced(STACK, "kubeconfig: kubeconfig$", 'kubeconfig: "kubeconfig"'),
    "quotes in the tenant's file": replaced("tenants/dev-team.yaml", r"path: \./staging", "path: './staging'"),
    "a description": replaced("Pulumi.yaml", "^runtime", "description: other\nruntime"),
    "an author": replaced("Pulumi.yaml", "^runtime", "author: a\nruntime"),
    "a website": replaced("Pulumi.yaml", "^runtime", "website: https://example.com\nruntime"),
    "a licence": replaced("Pulumi.yaml", "^runtime", "license: MIT\nruntime"),
    "an empty line": replaced("tenants/dev-team.yaml", "^sync:", "\nsync:"),
    "the order of keys": replaced("tenants/dev-team.yaml", r"(?s)(source:.*)(sync:.*)", r"\2\1"),
    "the style of a list": replaced("tenants/dev-team.yaml", "\n  - name: apps", " [{name: apps}]"),
    "a key of the base moved to the stack's entry": replaced("tenants/dev-team.yaml", r"(?s)sync:\n  path.*", ""),
    "line endings": with_crlf,
    "bytecode of the project": added("__pycache__/__main__.cpython-311.pyc"),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = write_project(tmp_path / "project")
    (folder / "tenants" / "dev-team.yaml").write_text(BASE)
    (folder / "__main__.py").write_text("import pulumi\n")
    write_stack(folder, git=..., policies=..., tenants={"dev-team": {"sync": {"path": "./staging"}}})
    return folder


def test_there_are_at_least_40() -> None:
    assert len(EDITS) >= 40


@pytest.mark.parametrize("edit", EDITS)
def test_a_harmless_edit_keeps_the_digest(project: Path, edit: str) -> None:
    before = render_stack(project, "staging").digest

    EDITS[edit](project)

    assert render_stack(project, "staging").digest == before
