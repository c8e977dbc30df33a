"""The lab's Pulumi without its binaries: where plugins are installed, and which official CLI can be used."""

import os
from pathlib import Path

import pytest

from dev.lab import pulumi as pulumi_module
from dev.lab.errors import LabError
from dev.lab.pulumi import LabPulumi
from dev.lab.settings import Settings

VERSIONS = {"pulumi": "v3.259.0", "pulumi-resource-kubernetes": "v4.25.0", "pulumi-resource-github": "v6.15.0"}


@pytest.fixture
def pulumi(tmp_path, monkeypatch) -> LabPulumi:
    tools = {name: tmp_path / "cache" / name for name in VERSIONS}
    (tmp_path / "cache").mkdir()
    for path in tools.values():
        path.touch()
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.delenv("PULUMI", raising=False)
    monkeypatch.setattr(pulumi_module, "pinned_version", lambda settings, name: VERSIONS[name])
    monkeypatch.setattr(pulumi_module, "ensure", lambda settings, names: {name: tools[name] for name in names})
    return LabPulumi(Settings(tmp_path / "project", tmp_path / "cache", tmp_path / "state", 20800))


FAKE_CLI = """#!/bin/sh
echo "$PULUMI_STACK$PULUMI_OPTION_CWD$*" >> {calls}
case "$*" in
  "stack ls"*) echo '[{{"name": "production"}}, {{"name": "staging"}}]' ;;
  "stack --show-name"*) [ -n "{current}" ] && echo "{current}" ;;
  cancel*) {cancel} ;;
esac
"""


def install_fake(pulumi: LabPulumi, current: str = "", cancel: str = ":") -> Path:
    """A CLI that records its arguments, one line for each call."""
    calls = pulumi.folder / "calls"
    pulumi.bin.mkdir(parents=True)
    (pulumi.bin / "pulumi").write_text(FAKE_CLI.format(calls=calls, current=current, cancel=cancel))
    (pulumi.bin / "pulumi").chmod(0o755)
    return calls


def changes(calls: Path) -> list[str]:
    made = [line.removesuffix(" --non-interactive") for line in calls.read_text().splitlines()]
    return [line for line in made if not line.startswith(("stack ls", "stack --show-name"))]


@pytest.mark.parametrize(
    ("current", "selects"), [("staging", []), ("production", ["stack select --create --stack production"])]
)
def test_a_stack_is_removed_with_its_lock_and_without_its_file_and_another_stays_selected(
    pulumi, tmp_path, current, selects
):
    calls = install_fake(pulumi, current)

    pulumi.remove("staging", tmp_path)

    assert changes(calls) == [
        "cancel --yes --stack staging",
        "stack rm --yes --force --preserve-config --remove-backups --stack staging",
        *selects,
    ]


def test_a_stack_that_pulumi_cannot_remove_is_an_error_with_its_output_or_its_damaged_state(pulumi, tmp_path):
    """The engine names neither the file of a damaged state nor its backup."""
    install_fake(pulumi, cancel="echo 'error: no room' >&2; exit 1")
    state = pulumi.folder / "backend/.pulumi/stacks/flux-tenancy/staging.json"
    state.parent.mkdir(parents=True)

    with pytest.raises(LabError, match="error: no room"):
        pulumi.remove("staging", tmp_path)
    state.touch()
    with pytest.raises(LabError, match=f"the state of the stack staging in {state} is damaged"):
        pulumi.remove("staging", tmp_path)


@pytest.mark.parametrize(("current", "selected"), [("staging", "staging"), ("", None)])
def test_the_selected_stack_does_not_depend_on_the_shell(pulumi, tmp_path, monkeypatch, current, selected):
    monkeypatch.setenv("PULUMI_STACK", "other")
    monkeypatch.setenv("PULUMI_OPTION_CWD", os.sep)
    calls = install_fake(pulumi, current)

    assert pulumi.selected(tmp_path) == selected
    assert calls.read_text() == "stack --show-name --non-interactive\n"
