"""A project with two valid stacks and a tenant in each, and a `pulumi` that encrypts to what a test can recognize."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import install_pulumi, invoke, refusal, told

from tests.support.releases import FLUX_VERSION

DIGEST = "5f" * 32
STACK = """\
# yaml-language-server: $schema=schemas/stack.schema.json
config:
    flux-tenancy:cluster: {{kubeconfig: kubeconfig}}

    flux-tenancy:flux:
        version: {version}
        sha256: {digest}
        webhookUrl: https://flux.example.com
    flux-tenancy:tenants:
        # The first team.
        dev-team:
            sync: {{path: ./{stack}}}   # as long as they like
        # The second team.
        ops-team: {{}}
    # Of one Git host.
    flux-tenancy:git:
        knownHosts: [git.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIH{host}]
encryptionsalt: v1:salt-of-{stack}
"""
BASE = """\
namespaces:
  - name: {namespace}
source:
  url: https://git.example.com/{namespace}
sync:
  targetNamespace: {namespace}
"""
# What arrives on standard input goes to `plain`, as if it had been encrypted. The outputs of each stack are `outputs`.
PULUMI = """\
#!/bin/sh
if [ "$1 $2" = "stack output" ]; then
  if [ -d outputs ]; then cat refusal >&2; exit 255; fi
  cat outputs 2> /dev/null || echo '{}'
  exit
fi
printf '%s\\n' "$*" >> calls
if [ -f refusal ]; then cat refusal >&2; exit 255; fi
if [ "$1" = preview ]; then echo "previewed $*"; exit; fi
cat >> plain
salt=$(sed -n 's/^encryptionsalt: //p' "$5")
printf 'config:\\n  flux-tenancy:encrypted:\\n    secure: v1:CIPHER\\nencryptionsalt: %s\\n' "${salt:-v1:new}" > "$5"
"""


@dataclass(frozen=True)
class TenantsProject:
    """Such a project.

    Attributes:
        folder: where it is.
    """

    folder: Path

    def run(self, *arguments: str) -> tuple[int, str, str]:
        return invoke("tenant", *arguments)

    def told(self, *arguments: str) -> str:
        """What a command prints that ends well."""
        return told(invoke("tenant", *arguments))

    def refused(self, *arguments: str) -> str:
        """What a command says that changes no file of the project."""
        before = self.files()
        error = refusal(invoke("tenant", *arguments))
        assert self.files() == before
        return error

    def files(self) -> dict[str, str]:
        """The YAML files."""
        return {str(file.relative_to(self.folder)): file.read_text() for file in self.folder.rglob("*.yaml")}

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()


def write_tenants_project(folder: Path, stacks: Sequence[str] = ("staging", "production")) -> Path:
    """Write the files of the project; returns its folder."""
    folder.mkdir(exist_ok=True)
    (folder / "Pulumi.yaml").write_text("name: flux-tenancy\nruntime: python\n")
    (folder / "tenants").mkdir()
    for name, namespace in (("dev-team", "apps"), ("ops-team", "tools")):
        (folder / f"tenants/{name}.yaml").write_text(BASE.format(namespace=namespace))
    for stack in stacks:
        text = STACK.format(stack=stack, version=FLUX_VERSION, digest=DIGEST, host="j" * 41 + "A")
        (folder / f"Pulumi.{stack}.yaml").write_text(text)
    return folder


def tenants_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> TenantsProject:
    """Write the project, and let the commands run in it."""
    write_tenants_project(folder)
    install_pulumi(folder, PULUMI, monkeypatch)
    return TenantsProject(folder)
