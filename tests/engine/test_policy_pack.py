"""The policy pack in the real engine, over a preview and over a state file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from flux_tenancy.components.config.decisions import today
from flux_tenancy.components.git.github import DEPLOY_KEY_TYPE
from flux_tenancy.components.keys.ssh_keys import generate
from tests.support.lab import Lab, RunningCluster
from tests.support.project import Outcome, Project

NAME = "pack-production"
EXPIRES = str(today() + timedelta(days=30))
TENANTS = ("dev-team", "ops-team")
SECRET_SIGNATURE = "4dabf18193072939515e22adb298388d"


class Stack:
    """A production stack with two tenants, both with deploy keys."""

    def __init__(self, lab: Lab, cluster: RunningCluster, project: Project) -> None:
        self.project = project
        self._sections = {
            "cluster": {"kubeconfig": str(cluster.kubeconfig), "context": cluster.name},
            "flux": lab.bundle(),
            "git": {"knownHostsFile": str(lab.git.known_hosts)},
        }
        self._keys = {tenant: project.secret(NAME, generate().private) for tenant in TENANTS}
        for tenant in TENANTS:
            url = lab.git.ssh_url(tenant, "apps")
            project.tenant(tenant, {"namespaces": [{"name": tenant}], "source": {"url": url}})

    def write(self, role: str, **sections: Any) -> None:
        """Write the stack's file, with this role for both tenants."""
        tenants = {name: {"role": role, "source": {"deployKey": key}} for name, key in self._keys.items()}
        self.project.stack(NAME, **self._sections, tenants=tenants, **sections)

    def preview(self) -> Outcome:
        """Preview the stack with the pack."""
        return self.project.run("preview", "--stack", NAME, "--policy-pack", "policy")


@pytest.fixture(scope="module")
def stack(lab: Lab, project: Project) -> Iterator[Stack]:
    with lab.cluster(NAME) as cluster:
        yield Stack(lab, cluster, project)


def findings(outcome: Outcome) -> dict[str, list[str]]:
    """Rule and resource of each violation, by level."""
    found: dict[str, list[str]] = {"mandatory": [], "advisory": []}
    for level, said in re.findall(r"\[(mandatory|advisory)\] .*\n.*\n +(\S+: \S+(?: \S+/\S+)?)", outcome.text):
        found[level].append(said)
    return {level: sorted(said) for level, said in found.items()}


def test_a_preview_that_breaks_rules_fails_and_shows_what_is_waived(stack: Stack) -> None:
    waiver = {
        "rule": "admin-binding",
        "resource": "RoleBinding ops-team/ops-team-reconciler",
        "reason": "It installs operators until they are part of the platform.",
        "expires": EXPIRES,
    }
    stack.write("cluster-admin", policies={"engine": "none"}, review={"waivers": [waiver]})

    outcome = stack.preview()

    assert not outcome.succeeded, outcome.text
    assert findings(outcome) == {
        "mandatory": ["admin-binding: RoleBinding dev-team/dev-team-reconciler", "no-policy-engine: policies.engine"],
        "advisory": ["admin-binding: RoleBinding ops-team/ops-team-reconciler"],
    }, outcome.text
    assert f"waived until {EXPIRES}: It installs operators until they are part of the platform." in outcome.text


def test_a_preview_in_order_passes_every_rule(stack: Stack) -> None:
    stack.write("tenant")

    outcome = stack.preview()

    assert outcome.succeeded, outcome.text
    assert "flux-tenancy@v1.0.0" in outcome.text
    assert findings(outcome) == {"mandatory": [], "advisory": []}, outcome.text


def test_a_state_file_is_analyzed_without_its_passphrase(stack: Stack) -> None:
    stack.write("tenant")
    encrypted = {SECRET_SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:AAAA:BBBB"}
    resources = {
        ("kubernetes:core/v1:Secret", "plain"): secret({"token": "cGE1NXdvcmQ="}),
        ("kubernetes:core/v1:Secret", "encrypted"): secret(encrypted),
        (DEPLOY_KEY_TYPE, "writable"): {"repository": "apps", "readOnly": False},
        (DEPLOY_KEY_TYPE, "reading"): {"repository": "apps", "readOnly": True},
    }
    file = stack.project.folder / "state.json"
    file.write_text(json.dumps(state(resources)))

    outcome = stack.project.run("policy", "analyze", "--file", file.name, "--policy-pack", "policy")

    assert not outcome.succeeded, outcome.text
    assert findings(outcome)["mandatory"] == [
        "plain-secret: Secret apps/plain",
        "writable-deploy-key: RepositoryDeployKey",
    ], outcome.text
    assert "cGE1NXdvcmQ=" not in outcome.text and "pa55word" not in outcome.text


def secret(data: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "apps"}, "data": data}


def state(resources: dict[tuple[str, str], Any]) -> dict[str, Any]:
    """A state file with these inputs, by type and name, of a stack with another passphrase."""
    salt = "v1:cJq06Aj7bdA=:v1:nkYF7Y1zhwmd5Ic1:TviZEwPMWebnvrYnHTHKhXHdG8OEFw=="
    entries = [
        {
            "urn": f"urn:pulumi:{NAME}::flux-tenancy::{kind}::{name}",
            "custom": True,
            "id": name,
            "type": kind,
            "inputs": inputs,
            "outputs": inputs,
        }
        for (kind, name), inputs in resources.items()
    ]
    deployment = {
        "manifest": {"time": "2026-01-01T00:00:00Z", "magic": "", "version": ""},
        "secrets_providers": {"type": "passphrase", "state": {"salt": salt}},
        "resources": entries,
    }
    return {"version": 3, "deployment": deployment}
