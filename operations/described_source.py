"""What the files say of a Git source, before the stack is in order: a source that waits for its key is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.stack.origins import stack_file_name
from operations.described_stack import described_platform, described_tenant


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
    """The source of a tenant that the stack lists, or has a base for and is about to list.

    Raises:
        OperationError: there is no such stack, or it does not have the tenant.
    """
    source = described_tenant(stack, tenant, project, may_be_new=True).value.get("source")
    return _described(f"the tenant {tenant}", f"tenants.{tenant}.source", stack_file_name(stack), source)


def platform_source(stack: str, project: Path) -> DescribedSource:
    """The source of the platform's own sync.

    Raises:
        OperationError: there is no such stack, or it has no such sync.
    """
    source = described_platform(stack, project).get("source")
    return _described("the platform", "flux.sync.source", stack_file_name(stack), source)


def _described(owner: str, path: str, file: str, source: Any) -> DescribedSource:
    source = source if isinstance(source, Mapping) else {}
    github = source.get("github")
    repository = github.get("repository") if isinstance(github, Mapping) else None
    return DescribedSource(
        owner, path, file, str(source.get("url") or ""), repository, source.get("deployKey") is not None
    )
