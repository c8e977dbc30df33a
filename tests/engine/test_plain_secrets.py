"""A deploy key in plain text is refused in every file that Pulumi reads; an encrypted one is accepted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from flux_tenancy.components.keys.ssh_keys import generate
from tests.support.lab import Lab, RunningCluster
from tests.support.project import Outcome, Project

NAME, PROJECT = "plain", "platform"
KEY = generate().private
EXPOSED = "tenants.dev-team.source.deployKey: "


class Stack:
    """A stack with two tenants, both with deploy keys that the stack's file holds encrypted."""

    def __init__(self, lab: Lab, cluster: RunningCluster, project: Project) -> None:
        self.project = project
        self.file = project.folder / f"Pulumi.{NAME}.yaml"
        tenants = {}
        for tenant, key in {"dev-team": KEY, "ops-team": generate().private}.items():
            url = lab.git.ssh_url(tenant, "apps")
            project.tenant(tenant, {"namespaces": [{"name": tenant}], "source": {"url": url}})
            tenants[tenant] = {"source": {"deployKey": project.secret(NAME, key)}}
        project.stack(
            NAME,
            cluster={"kubeconfig": str(cluster.kubeconfig), "context": cluster.name},
            flux=lab.bundle(),
            git={"knownHostsFile": str(lab.git.known_hosts)},
            policies={"engine": "none"},
            tenants=tenants,
        )
        self.encrypted = self.file.read_text()

    def plain(self, key: str | None = KEY) -> dict[str, Any]:
        """The stack's file with the key of one tenant in plain text, or without it."""
        content: dict[str, Any] = yaml.safe_load(self.encrypted)
        content["config"][f"{PROJECT}:tenants"]["dev-team"]["source"] = {"deployKey": key} if key else {}
        return content

    def preview(self, *options: str) -> Outcome:
        return self.project.run("preview", "--stack", NAME, *options)

    def refusal(self, *options: str) -> str:
        """What a preview says that plans nothing; the key is not in it."""
        outcome = self.preview(*options)
        assert not outcome.succeeded, outcome.text
        assert not [line for line in KEY.splitlines()[1:-1] if line in outcome.text]
        assert "kubernetes:" not in outcome.text and "Traceback" not in outcome.text
        return outcome.text


@pytest.fixture(scope="module")
def applied(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Such a stack of a project that has a name of its own."""
    with lab.cluster(NAME) as cluster:
        yield Stack(lab, cluster, Project(tmp_path_factory.mktemp("project") / PROJECT, lab.pulumi, PROJECT))


@pytest.fixture
def stack(applied: Stack) -> Stack:
    """The same as it was written first."""
    applied.file.write_text(applied.encrypted)
    return applied


def test_encrypted_keys_are_planned(stack: Stack) -> None:
    outcome = stack.preview()

    assert outcome.succeeded and "kubernetes:core/v1:Secret" in outcome.text, outcome.text


def test_plain_secrets_are_found_in_a_project_with_another_name(stack: Stack) -> None:
    stack.file.write_text(yaml.safe_dump(stack.plain()))

    assert f"Pulumi.{NAME}.yaml: {EXPOSED}" in stack.refusal()


def test_plain_secrets_are_found_below_a_key_with_no_or_another_project_name(stack: Stack) -> None:
    content = stack.plain()
    content["config"]["tenants"] = content["config"].pop(f"{PROJECT}:tenants")
    content["config"]["flux-tenancy:git"] = {}
    stack.file.write_text(yaml.safe_dump(content))

    text = stack.refusal()

    for line in (
        EXPOSED,
        f"tenants: .*{PROJECT}:tenants",
        f"flux-tenancy:git: .*{PROJECT}:git",
    ):
        assert re.search(f"Pulumi.{NAME}.yaml: {line}", text)


def test_plain_secrets_are_found_in_a_file_given_on_the_command_line(stack: Stack) -> None:
    other = stack.project.folder / "other.yaml"
    other.write_text(yaml.safe_dump(stack.plain()))

    assert f"other.yaml: {EXPOSED}" in stack.refusal("--config-file", "other.yaml")

    # That file counts, also where it is the one in order.
    other.write_text(stack.encrypted)
    stack.file.write_text(yaml.safe_dump(stack.plain()))
    outcome = stack.preview(f"--config-file={other}")
    assert outcome.succeeded, outcome.text


def test_plain_secrets_are_found_in_the_project_file(stack: Stack) -> None:
    stack.file.write_text(yaml.safe_dump(stack.plain(key=None)))
    file = stack.project.folder / "Pulumi.yaml"
    said = file.read_text()
    file.write_text(f"{said}config:\n  tenants.dev-team.source.deployKey: {{value: {json.dumps(KEY)}}}\n")

    try:
        assert f"Pulumi.yaml: {EXPOSED}" in stack.refusal()
    finally:
        file.write_text(said)
