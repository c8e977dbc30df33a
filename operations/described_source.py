"""What the files say of a Git source, before the stack is in order: a source that waits for its key is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.configuration import Problem
from components.configuration.origins import stack_file_name
from components.configuration.stack_file import StackFile, is_encrypted, read_stack_file
from components.configuration.tenant_files import read_tenant
from operations.errors import OperationError

PLATFORM = ("flux", "sync")


@dataclass(frozen=True)
class DescribedSource:
    """A source as it stands in the files.

    Attributes:
        owner: whose it is, in words: `the tenant dev-team`, or `the platform`.
        path: where its keys stand in the stack, e.g. `tenants.dev-team.source`.
        file: the stack's file.
        url: URL of the repository; empty where neither file has one yet.
        repository: `owner/name` at GitHub, where the program registers keys; None elsewhere.
        has_deploy_key: whether there is a key already.
    """

    owner: str
    path: str
    file: str
    url: str
    repository: str | None
    has_deploy_key: bool


def tenant_source(stack: str, tenant: str, project: Path) -> DescribedSource:
    """The source of a tenant that the stack lists.

    Raises:
        OperationError: there is no such stack, or it does not have the tenant.
    """
    name, file = stack_file_name(stack), _stack_file(stack, project)
    tenants = file.at(("tenants",))
    listed = list(tenants) if isinstance(tenants, Mapping) and not is_encrypted(tenants) else []
    if tenant not in listed:
        has = f"it has {', '.join(listed)}" if listed else "it has none"
        raise OperationError(
            f"{name} lists no tenant {tenant}; {has}", f"add `{tenant}: {{}}` below flux-tenancy:tenants first"
        )
    overlaid = read_tenant(tenant, tenants[tenant], name, project)
    if isinstance(overlaid, Problem):
        raise OperationError(str(overlaid), "mend that first")
    return _described(f"the tenant {tenant}", f"tenants.{tenant}.source", name, overlaid.value.get("source"))


def platform_source(stack: str, project: Path) -> DescribedSource:
    """The source of the platform's own sync.

    Raises:
        OperationError: there is no such stack, or it has no such sync.
    """
    name, file = stack_file_name(stack), _stack_file(stack, project)
    sync = file.at(PLATFORM)
    if not isinstance(sync, Mapping):
        raise OperationError(f"{name} has no flux.sync", "write flux.sync.source.url there first")
    return _described("the platform", "flux.sync.source", name, sync.get("source"))


def _stack_file(stack: str, project: Path) -> StackFile:
    name = stack_file_name(stack)
    if not (project / name).is_file():
        found = sorted(file.name.split(".")[1] for file in project.glob("Pulumi.*.yaml"))
        raise OperationError(
            f"there is no {name} for a stack {stack}",
            f"name one that is described: STACK={' or '.join(found)}" if found else f"describe the stack in {name}",
        )
    return read_stack_file(stack, project)


def _described(owner: str, path: str, file: str, source: Any) -> DescribedSource:
    source = source if isinstance(source, Mapping) else {}
    github = source.get("github")
    repository = github.get("repository") if isinstance(github, Mapping) else None
    return DescribedSource(
        owner, path, file, str(source.get("url") or ""), repository, source.get("deployKey") is not None
    )
