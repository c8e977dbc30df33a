"""A project in a folder, with encrypted secrets and a release of Flux in miniature: what a reviewer's commands read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from sample_release import RELEASE_FILE
from sample_stack import FLUX, write_project_file

from flux_tenancy.components.config.yaml_files import Dumper
from flux_tenancy.review.render.rendered import Render
from flux_tenancy.review.render.stack import render_stack

SALT = "v1:cJq06Aj7bdA=:v1:nkYF7Y1zhwmd5Ic1:TviZEwPMWebnvrYnHTHKhXHdG8OEFw=="
KNOWN_HOST = "git.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"


def encrypted(value: str) -> dict[str, str]:
    """An encrypted value of a stack file; nobody decrypts it."""
    return {"secure": f"v1:0123456789abcdef:{value}"}


def tenant(name: str, namespace: str, key: str = "first") -> dict[str, Any]:
    """A tenant's entry in the stack: a private repository over SSH and one namespace."""
    return {
        "namespaces": [{"name": namespace}],
        "source": {"url": f"ssh://git@git.example.com/{name}/apps", "deployKey": encrypted(f"{name}-{key}")},
        "sync": {"path": "./staging"},
    }


def write_stack(project: Path, stack: str = "staging", **sections: Any) -> None:
    """Write the stack's file; `sections` replace those of a stack that is valid, and one that is `...` is left out."""
    release = RELEASE_FILE.read_bytes()
    pinned_release = {"sha256": hashlib.sha256(release).hexdigest(), "manifests": {"bundle": "install.yaml"}}
    valid: dict[str, Any] = {
        "cluster": {"kubeconfig": "kubeconfig"},
        "flux": FLUX | pinned_release | sections.pop("flux", {}),
        "git": {"knownHosts": [KNOWN_HOST]},
        "policies": {"sources": {"allowed": ["ssh://git@git.example.com/*"]}},
        "tenants": {"dev-team": tenant("dev-team", "apps")},
    }
    config = {f"flux-tenancy:{key}": value for key, value in (valid | sections).items() if value is not ...}
    (project / "install.yaml").write_bytes(release)
    (project / f"Pulumi.{stack}.yaml").write_text(
        yaml.dump({"config": config, "encryptionsalt": SALT}, Dumper=Dumper, sort_keys=False)
    )


def pinned(project: Path, sample: Any, section: Mapping[str, Any]) -> dict[str, Any]:
    """A section with the chart in miniature of `sample_capsule` or `sample_kyverno`, which it writes."""
    archive, file = sample.chart_archive(), f"{sample.CHART_METADATA['name']}.tgz"
    (project / file).write_bytes(archive)
    return {**section, "sha256": hashlib.sha256(archive).hexdigest(), "chart": {"bundle": file}}


def write_project(project: Path) -> Path:
    """A project without stacks."""
    project.mkdir(exist_ok=True)
    (project / "tenants").mkdir()
    write_project_file(project)
    return project


def rendered(project: Path, **sections: Any) -> Render:
    """The render of the stack `staging` with these sections."""
    if not project.exists() or not (project / "Pulumi.yaml").exists():
        write_project(project)
    for name in sections.get("tenants", {"dev-team": {}}):
        (project / "tenants" / f"{name}.yaml").touch()
    write_stack(project, **sections)
    return render_stack(project, "staging")
