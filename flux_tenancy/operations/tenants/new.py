"""A new tenant: its base file, its entries in stacks, and a deploy key for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.yaml_files import Dumper
from flux_tenancy.components.keys.ssh_keys import SshKey, generate
from flux_tenancy.components.stack.files.project import stack_file_name, tenant_file_name
from flux_tenancy.components.tenant.capsule.config import TenancyMode
from flux_tenancy.operations.files.described_flux import tenant_source
from flux_tenancy.operations.files.project_edits import ProjectEdits, value_checks
from flux_tenancy.project.described_stack import TENANTS, described_section, described_stacks, listed_tenants
from flux_tenancy.project.errors import OperationError, run_all

_HEADER = """\
# yaml-language-server: $schema=../schemas/tenant.schema.json
# The base of the tenant {tenant}, shared by all environments. A stack that lists {tenant} has it.
"""


@dataclass(frozen=True)
class NewTenant:
    """A tenant as `flux-tenancy tenant new` describes it.

    Attributes:
        url: URL of its repository; empty if it has a base file already.
        namespaces: its namespaces; its own name if empty.
        repository: `owner/name` at GitHub, to register its deploy key there.
        branch: branch of the repository; empty for `main`.
        folder: folder of the repository for these stacks; empty for its root, or what the base file says.
    """

    name: str
    url: str = ""
    namespaces: tuple[str, ...] = ()
    repository: str = ""
    branch: str = ""
    folder: str = ""


@dataclass(frozen=True)
class Onboarded:
    """The repository and the keys of a new tenant.

    Attributes:
        repository: the same at GitHub, if keys are registered there; otherwise None.
        keys: its new deploy key by stack; without one for a URL that takes none.
    """

    url: str
    repository: str | None
    keys: Mapping[str, SshKey]


class _Dumper(Dumper):
    """Items of lists are indented, as in the other base files."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def base_text(tenant: NewTenant, webhook: bool, makes_namespaces: bool = False) -> str:
    """The base file of a tenant.

    Args:
        webhook: whether pushes are announced to Flux.
        makes_namespaces: whether the tenant makes namespaces itself. Flux would give them all, and what is in them, the
            name of `sync.targetNamespace`.
    """
    namespaces = tenant.namespaces or (tenant.name,)
    source: dict[str, Any] = {"url": tenant.url}
    if tenant.repository:
        source["github"] = {"repository": tenant.repository}
        source |= {"webhook": {}} if webhook else {}
    if tenant.branch:
        source["branch"] = tenant.branch
    content: dict[str, Any] = {"namespaces": [{"name": name} for name in namespaces], "source": source}
    if len(namespaces) == 1 and not makes_namespaces:
        content["sync"] = {"targetNamespace": namespaces[0]}
    return _HEADER.format(tenant=tenant.name) + yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=2**20)


def onboard(tenant: NewTenant, stacks: Sequence[str], edits: ProjectEdits) -> Onboarded:
    """Collect the changes of an onboarding.

    Raises:
        OperationError: the name is taken, a value is not usable, or Pulumi cannot encrypt a key.
    """
    project = edits.project
    run_all(_checks(tenant, stacks, project))
    if tenant.url:
        announced = bool(tenant.repository) and all(
            described_section(stack, "flux", project).get("webhookUrl") for stack in stacks
        )
        makes_namespaces = any(
            described_section(stack, "tenancy", project).get("mode") == TenancyMode.CAPSULE.value for stack in stacks
        )
        edits.create(tenant_file_name(tenant.name), base_text(tenant, announced, makes_namespaces))
        url, repository = tenant.url, tenant.repository or None
    else:
        source = tenant_source(stacks[0], tenant.name, project)
        url, repository = source.url, source.repository
    keys = {}
    for stack in stacks:
        edits.set(stack, (TENANTS, tenant.name), {"sync": {"path": tenant.folder}} if tenant.folder else {})
        if url.startswith("ssh://"):
            keys[stack] = generate()
            edits.set_secret(stack, (TENANTS, tenant.name, "source", "deployKey"), keys[stack].private)
    return Onboarded(url, repository, keys)


def _checks(tenant: NewTenant, stacks: Sequence[str], project: Path) -> Iterator[Callable[[], None]]:
    yield from value_checks(
        {
            "TENANT": tenant.name,
            "--repo": tenant.url,
            "--namespace": tenant.namespaces,
            "--github": tenant.repository,
            "--branch": tenant.branch,
            "--folder": tenant.folder,
        }
    )
    for stack in stacks:
        yield partial(_check_not_listed, tenant, stack, project)
    yield partial(_check_file, tenant, project)


def _check_not_listed(tenant: NewTenant, stack: str, project: Path) -> None:
    if tenant.name in listed_tenants(stack, project):
        others = [each for each in described_stacks(project) if tenant.name not in listed_tenants(each, project)]
        raise OperationError(
            Message(
                "FT-OPS-304",
                f"{stack_file_name(stack)} lists {tenant.name} already",
                f"name only stacks that do not list it: {' or '.join(others) or 'none is left'}",
            )
        )


def _check_file(tenant: NewTenant, project: Path) -> None:
    file = tenant_file_name(tenant.name)
    exists = (project / file).exists()
    if tenant.url and exists:
        raise OperationError(
            Message(
                "FT-OPS-302",
                f"{file} exists already",
                f"choose another name, or leave --repo out to list {tenant.name} in another stack",
            )
        )
    if not tenant.url and not exists:
        raise OperationError(
            Message(
                "FT-OPS-303",
                f"there is no {file}",
                "add --repo ssh://git@<host>/<owner>/<repository>.git, to write it",
            )
        )
    if exists:
        given = {"--namespace": tenant.namespaces, "--github": tenant.repository, "--branch": tenant.branch}
        if keys := [key for key, value in given.items() if value]:
            raise OperationError(
                Message(
                    "FT-OPS-305",
                    f"{' and '.join(keys)} would change {file}, which other stacks use",
                    "leave it out, and edit the file by hand",
                )
            )
