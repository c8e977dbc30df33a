"""What is measured: a Pulumi project with made-up tenants, and the same tenants' objects for kubectl."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

from components.cluster.manifests import Manifest, owned
from components.git.source_objects import source_objects
from components.stack.config import StackConfig
from components.stack.loading import load_stack
from components.stack.origins import TENANTS_FOLDER
from components.tenant.objects import source_meta, tenant_objects

STACK = "bench"

TENANT_URNS = "**flux-tenancy:index:Tenant**"
"""Pattern of the tenants' resources in the state, for `--target`."""

_PREFIX = "flux-tenancy:"
_PROGRAM = ("Pulumi.yaml", "__main__.py", "components", "operations", "review")


class Workload:
    """A Pulumi project in a folder of its own: the program of the checkout, with made-up tenants.

    Attributes:
        folder: the project.
        objects_file: the tenants' objects, each tenant's in the order of their creation.
        reverse_file: the same objects in reverse, for their deletion.
    """

    def __init__(self, folder: Path, checkout: Path) -> None:
        self.folder = folder
        self.objects_file = folder / "objects.yaml"
        self.reverse_file = folder / "objects-in-reverse.yaml"
        self._stack_file = folder / f"Pulumi.{STACK}.yaml"
        (folder / TENANTS_FOLDER).mkdir(parents=True)
        for name in _PROGRAM:
            (folder / name).symlink_to(checkout / name)
        # The folder that Pulumi.yaml names: the environment that runs the benchmark.
        (folder / ".venv").symlink_to(sys.prefix)
        self._stack_file.write_text(yaml.safe_dump({"config": {"pulumi:disable-default-providers": ["*"]}}))

    def set_sections(self, **sections: Manifest | None) -> None:
        """Replace sections of the stack's configuration, or remove them (None)."""
        # All other keys are Pulumi's, such as the salt of the stack's secrets.
        stack = yaml.safe_load(self._stack_file.read_text())
        changed = {f"{_PREFIX}{name}": section for name, section in sections.items()}
        config = {key: section for key, section in (stack["config"] | changed).items() if section is not None}
        self._stack_file.write_text(yaml.safe_dump(stack | {"config": config}))

    def set_tenants(self, urls: Mapping[str, str]) -> list[Manifest]:
        """Replace the stack's tenants, and write their objects for kubectl.

        Args:
            urls: URL of each tenant's repository by the tenant's name, which is also the name of its namespace.

        Returns:
            The tenants' objects, in the order of their creation.
        """
        for name, url in urls.items():
            base = {
                "namespaces": [{"name": name}],
                "source": {"url": url, "branch": "main", "interval": "1m"},
                "sync": {"targetNamespace": name, "interval": "10m"},
            }
            (self.folder / TENANTS_FOLDER / f"{name}.yaml").write_text(yaml.safe_dump(base))
        self.set_sections(tenants={name: {"sync": {"path": "./staging"}} for name in urls})
        objects = _objects(self._stack())
        self.objects_file.write_text(yaml.safe_dump_all(objects))
        self.reverse_file.write_text(yaml.safe_dump_all(reversed(objects)))
        return objects

    def _stack(self) -> StackConfig:
        """The stack as the program itself reads it."""
        config = yaml.safe_load(self._stack_file.read_text())["config"]
        sections = {
            key.removeprefix(_PREFIX): json.dumps(value) for key, value in config.items() if key.startswith(_PREFIX)
        }
        return load_stack(STACK, sections, (), self.folder)


def repositories(count: int) -> dict[str, str]:
    """Names of made-up tenants with the URLs of their repositories, which nobody fetches."""
    names = [f"team-{number:03}" for number in range(1, count + 1)]
    return {name: f"https://git.example.com/{name}/apps.git" for name in names}


def _objects(stack: StackConfig) -> list[Manifest]:
    """All objects that the program registers for the stack's tenants, from the same functions."""
    objects: list[Manifest] = []
    for name, config in stack.tenants.items():
        tenant = tenant_objects(name, config, stack.tenancy)
        source = source_objects(source_meta(name, config), config.source, known_hosts=()).source
        objects += [*tenant.namespaces, *tenant.limits, tenant.identity, *tenant.access, source, tenant.sync]
    return [owned(manifest) for manifest in objects]


def flux_section(checkout: Path, bundle: Path) -> Manifest:
    """The release of Flux that the staging stack installs, from a local bundle."""
    staging = staging_section(checkout, "flux")
    return {"version": staging["version"], "sha256": staging["sha256"], "manifests": {"bundle": str(bundle)}}


def kyverno_section(checkout: Path, bundle: Path) -> Manifest:
    """Kyverno as the staging stack installs it, from a local bundle."""
    return {**staging_section(checkout, "kyverno"), "chart": {"bundle": str(bundle)}}


def staging_section(checkout: Path, section: str) -> Manifest:
    """A section of the staging stack, whose releases are the ones that are measured."""
    found: Manifest = yaml.safe_load((checkout / "Pulumi.staging.yaml").read_text())["config"][f"{_PREFIX}{section}"]
    return found
