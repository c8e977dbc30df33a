"""What is measured: a Pulumi project with a number of tenants, and the same tenants' objects for kubectl."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from components.cluster.manifests import Manifest, owned
from components.git.source_objects import source_objects
from components.stack.config import StackConfig
from components.stack.loading import load_stack
from components.stack.origins import TENANTS_FOLDER
from components.tenant.config import TenancyConfig, TenantConfig
from components.tenant.objects import source_meta, tenant_objects

STACK = "bench"

TENANT_URNS = "**flux-tenancy:index:Tenant**"
"""Pattern of the tenants' resources in the state, for `--target`."""

_PREFIX = "flux-tenancy:"
_PROGRAM = ("Pulumi.yaml", "__main__.py", "components")


class Workload:
    """A Pulumi project in a folder of its own: the program of the checkout, and made-up tenants.

    Attributes:
        folder: the project.
        objects_file: the tenants' objects, each tenant's in the order of their creation.
        reverse_file: the same objects the other way round, for their deletion.
    """

    def __init__(self, folder: Path, checkout: Path) -> None:
        self.folder = folder
        self.objects_file = folder / "objects.yaml"
        self.reverse_file = folder / "objects-in-reverse.yaml"
        (folder / TENANTS_FOLDER).mkdir(parents=True)
        for name in _PROGRAM:
            (folder / name).symlink_to(checkout / name)
        # Pulumi.yaml names this folder; it is the environment that runs the benchmark.
        (folder / ".venv").symlink_to(sys.prefix)

    def configure(self, flux: Manifest, kubeconfig: Path) -> None:
        """Write the stack file, without tenants.

        Args:
            flux: the `flux` section.
            kubeconfig: file of the cluster, whose current context is used.
        """
        self._write_config(
            {
                "pulumi:disable-default-providers": ["*"],
                f"{_PREFIX}cluster": {"kubeconfig": str(kubeconfig)},
                f"{_PREFIX}flux": flux,
                # No sync is measured, so none is waited for.
                f"{_PREFIX}tenancy": {"settleTimeout": "1ms"},
                # What admission costs is measured by itself.
                f"{_PREFIX}policies": {"engine": "none"},
                f"{_PREFIX}tenants": {},
            }
        )

    def set_tenants(self, count: int) -> list[Manifest]:
        """Give the stack this many tenants, and write their objects for kubectl.

        Returns:
            The tenants' objects, in the order of their creation.
        """
        names = [f"team-{number:03}" for number in range(1, count + 1)]
        for name in names:
            self._tenant_file(name).write_text(yaml.safe_dump(tenant_base(name)))
        config = self._config()
        config[f"{_PREFIX}tenants"] = {name: {"sync": {"path": "./staging"}} for name in names}
        self._write_config(config)
        objects = render(self._stack(config))
        self.objects_file.write_text(yaml.safe_dump_all(objects))
        self.reverse_file.write_text(yaml.safe_dump_all(reversed(objects)))
        return objects

    def set_sources(self, urls: Mapping[str, str]) -> None:
        """Give the stack tenants whose repositories are there to be fetched.

        Args:
            urls: of each tenant's repository, by the tenant's name, which is that of its namespace, too.
        """
        for name, url in urls.items():
            base = tenant_base(name)
            self._tenant_file(name).write_text(yaml.safe_dump(base | {"source": {**base["source"], "url": url}}))
        tenants = {name: {"sync": {"path": "./staging"}} for name in urls}
        self._write_config(self._config() | {f"{_PREFIX}tenants": tenants})

    def set_one_tenant(self) -> str:
        """Give the stack one tenant; returns its name, which is that of its namespace and service account, too."""
        self.set_tenants(1)
        names: dict[str, Any] = self._config()[f"{_PREFIX}tenants"]
        (name,) = names
        return name

    def set_policies(self, policies: Manifest, kyverno: Manifest | None) -> None:
        """Write the `policies` section, and the `kyverno` section or none."""
        config = self._config()
        config.pop(f"{_PREFIX}kyverno", None)
        sections = {"policies": policies} | ({"kyverno": kyverno} if kyverno else {})
        self._write_config(config | {f"{_PREFIX}{name}": section for name, section in sections.items()})

    @property
    def _stack_file(self) -> Path:
        return self.folder / f"Pulumi.{STACK}.yaml"

    def _tenant_file(self, name: str) -> Path:
        return self.folder / TENANTS_FOLDER / f"{name}.yaml"

    def _stack(self, config: Manifest) -> StackConfig:
        """The stack as the program itself reads it."""
        own = {key.removeprefix(_PREFIX): value for key, value in config.items() if key.startswith(_PREFIX)}
        return load_stack(STACK, {key: json.dumps(value) for key, value in own.items()}, (), self.folder)

    def _config(self) -> Manifest:
        config: Manifest = yaml.safe_load(self._stack_file.read_text())["config"]
        return config

    def _write_config(self, config: Manifest) -> None:
        # Whatever else stands there is Pulumi's, e.g. the salt of the stack's secrets.
        text = self._stack_file.read_text() if self._stack_file.exists() else "{}"
        self._stack_file.write_text(yaml.safe_dump({**yaml.safe_load(text), "config": config}))


def tenant_base(name: str) -> Manifest:
    """The base file of a tenant with one namespace."""
    return {
        "namespaces": [{"name": name}],
        # Never fetched: Flux's controllers stand still, except beside a neighbour (`Workload.set_sources`).
        "source": {"url": f"https://git.example.com/{name}/apps.git", "branch": "main", "interval": "1m"},
        "sync": {"targetNamespace": name, "interval": "10m"},
    }


def render(stack: StackConfig) -> list[Manifest]:
    """All objects that the program registers for the stack's tenants, from the same functions."""
    return [
        owned(manifest) for name, tenant in stack.tenants.items() for manifest in _tenant(name, tenant, stack.tenancy)
    ]


def _tenant(name: str, config: TenantConfig, tenancy: TenancyConfig) -> list[Manifest]:
    tenant = tenant_objects(name, config, tenancy)
    source = source_objects(source_meta(name, config), config.source, known_hosts=()).source
    return [*tenant.namespaces, *tenant.limits, tenant.identity, *tenant.access, source, tenant.sync]


def flux_section(checkout: Path, bundle: Path) -> dict[str, Any]:
    """The release of Flux that the staging stack installs, from a local bundle."""
    release = {key: staging_section(checkout, "flux")[key] for key in ("version", "sha256")}
    return {**release, "manifests": {"bundle": str(bundle)}}


def kyverno_section(checkout: Path, bundle: Path) -> dict[str, Any]:
    """Kyverno as the staging stack installs it, from a local bundle."""
    return {**staging_section(checkout, "kyverno"), "chart": {"bundle": str(bundle)}}


def staging_section(checkout: Path, section: str) -> dict[str, Any]:
    """A section of the sample stack, whose releases are the ones that are measured."""
    config: Manifest = yaml.safe_load((checkout / "Pulumi.staging.yaml").read_text())["config"]
    found: Manifest = config[f"{_PREFIX}{section}"]
    return found
