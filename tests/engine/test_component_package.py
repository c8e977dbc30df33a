"""The component package in a plugin of its own: the engine reads its schema, and it registers and hooks a platform."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import yaml

from tests.support.lab import Lab
from tests.support.project import CHECKOUT

NAME = "packaged"
PROGRAM = """
import json, os, pulumi
pulumi.ComponentResource(
    "flux-tenancy:index:Platform", "platform", json.loads(os.environ["PLATFORM"]), None, remote=True
)
"""


def test_a_program_registers_a_platform_in_the_plugin(lab: Lab, tmp_path: Path) -> None:
    """The engine starts `package/` as it is, with the packages of this checkout; no SDK is generated."""
    plugin, project = tmp_path / "package", tmp_path / "project"
    plugin.mkdir()
    project.mkdir()
    for file in ("PulumiPlugin.yaml", "__main__.py"):
        (plugin / file).write_text((CHECKOUT / "package" / file).read_text())
    (plugin / "requirements.txt").touch()
    runtime = {"name": "python", "options": {"toolchain": "pip", "virtualenv": ".venv"}}
    for folder in (plugin, project):
        (folder / ".venv").symlink_to(CHECKOUT / ".venv")
    providers = [{"name": "flux-tenancy", "path": str(plugin)}]
    description = {"name": NAME, "runtime": runtime, "plugins": {"providers": providers}}
    (project / "Pulumi.yaml").write_text(yaml.safe_dump(description))
    (project / "__main__.py").write_text(PROGRAM)

    with lab.cluster(NAME) as cluster:
        release = lab.bundle()
        bundle = str(Path(release["manifests"]["bundle"]).absolute())
        source = {"url": "https://git.example.com/my-team/apps"}
        platform: dict[str, Any] = {
            "kubeconfig": cluster.kubeconfig.read_text(),
            "flux": release | {"manifests": {"bundle": bundle}},
            "tenancy": {"settleTimeout": "1ms"},
            "policies": {"sources": {"allowed": ["https://git.example.com/*"]}},
            "tenants": {"my-team": {"namespaces": [{"name": "my-team"}], "source": source, "sync": {"path": "."}}},
        }

        def pulumi(*arguments: str, succeeds: bool = True) -> str:
            environ = os.environ | {"PLATFORM": json.dumps(platform), "PIP_NO_INDEX": "1"}
            done = lab.pulumi.run([*arguments, "--stack", NAME], project, environ, capture_output=True)
            assert (done.returncode == 0) == succeeds, done.stdout + done.stderr
            return str(done.stdout + done.stderr)

        lab.pulumi.select(NAME, project)
        pulumi("up", "--yes", "--skip-preview")
        pulumi("preview", "--expect-no-changes")

        [role] = cluster.get("rolebindings", namespace="my-team")["items"][:1]
        assert role["metadata"]["namespace"] == "my-team"
        [user] = yaml.safe_load(cluster.kubeconfig.read_text())["users"]
        exported = pulumi("stack", "export")
        assert not any(credential in exported for credential in user["user"].values())

        platform["tenants"]["my-team"]["sync"]["path"] = 7
        refused = pulumi("preview", succeeds=False)
        assert "tenants.my-team.sync.path" in refused
        assert "AttributeError" not in refused
