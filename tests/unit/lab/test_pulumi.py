"""The lab's Pulumi without its binaries: where plugins are put, and which official CLI may take its place."""

from pathlib import Path

import pytest

from lab import pulumi as pulumi_module
from lab.errors import LabError
from lab.pulumi import LabPulumi
from lab.settings import Settings

VERSIONS = {"pulumi": "v3.259.0", "pulumi-resource-kubernetes": "v4.25.0", "pulumi-resource-github": "v6.15.0"}
FOLDERS = {
    "pulumi-resource-kubernetes": "resource-kubernetes-v4.25.0",
    "pulumi-resource-github": "resource-github-v6.15.0",
}


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


@pytest.fixture
def official(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An official CLI with its language host and both plugins, named by $PULUMI; the result is its home."""
    cli = tmp_path / "official" / "pulumi"
    cli.parent.mkdir()
    cli.write_text("#!/bin/sh\necho v3.260.0\n")
    cli.chmod(0o755)
    cli.with_name("pulumi-language-python").touch()
    home = tmp_path / "home"
    for folder in FOLDERS.values():
        (home / "plugins" / folder).mkdir(parents=True)
    monkeypatch.setenv("PULUMI_HOME", str(home))
    monkeypatch.setenv("PULUMI", str(cli))
    return home


def test_the_built_plugins_are_where_the_cli_looks_for_them(pulumi, tmp_path):
    pulumi.install()

    for plugin, folder in FOLDERS.items():
        placed = pulumi.folder / "home" / "plugins" / folder / plugin
        assert placed.resolve() == tmp_path / "cache" / plugin


def test_an_official_cli_brings_its_own_plugins(pulumi, official):
    assert pulumi.tools() == []

    pulumi.install()

    for folder in FOLDERS.values():
        assert (pulumi.folder / "home" / "plugins" / folder).resolve() == official / "plugins" / folder


@pytest.mark.parametrize("folder", FOLDERS.values())
def test_an_official_cli_without_one_of_the_plugins_is_refused(pulumi, official, folder):
    (official / "plugins" / folder).rmdir()

    with pytest.raises(LabError, match=f"has no {folder}"):
        pulumi.tools()


def test_the_git_hosts_token_is_in_the_environment_once_there_is_one(pulumi, tmp_path):
    assert "GITHUB_TOKEN" not in pulumi.environment()
    (tmp_path / "state" / "git-host").mkdir(parents=True)
    (tmp_path / "state" / "git-host" / "token").write_text("t0ken\n")

    assert pulumi.environment()["GITHUB_TOKEN"] == "t0ken"
