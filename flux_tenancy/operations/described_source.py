"""A Git source as the files describe it; the stack need not be valid, since a source may still lack its key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flux_tenancy.components.stack.files.names import stack_file_name
from flux_tenancy.operations.yaml_edits import Keys
from flux_tenancy.project.described_stack import PLATFORM, TENANTS, described_platform, described_tenant


@dataclass(frozen=True)
class DescribedSource:
    """A source as it is in the files.

    Attributes:
        owner: what messages call its owner: `tenant dev-team`, or `the platform`.
        path: path of the source in the stack, e.g. `("tenants", "dev-team", "source")`.
        file: the stack's file.
        url: URL of the repository; empty if neither file has one yet.
        repository: `owner/name` at GitHub, if the program registers keys there; otherwise None.
        has_deploy_key: whether it has a deploy key already.
    """

    owner: str
    path: Keys
    file: str
    url: str
    repository: str | None
    has_deploy_key: bool


def tenant_source(stack: str, tenant: str, project: Path) -> DescribedSource:
    """The source of a tenant that the stack lists, or of one with a base file that is about to be listed.

    Raises:
        OperationError: the stack or the tenant does not exist.
    """
    source = described_tenant(stack, tenant, project, may_be_new=True).value.get("source")
    return _described(f"tenant {tenant}", (TENANTS, tenant, "source"), stack_file_name(stack), source)


def platform_source(stack: str, project: Path) -> DescribedSource:
    """The source of the platform's own sync.

    Raises:
        OperationError: the stack does not exist or has no such sync.
    """
    source = described_platform(stack, project).get("source")
    return _described("the platform", (*PLATFORM, "source"), stack_file_name(stack), source)


def _described(owner: str, path: Keys, file: str, source: Any) -> DescribedSource:
    source = source if isinstance(source, Mapping) else {}
    github = source.get("github")
    repository = github.get("repository") if isinstance(github, Mapping) else None
    return DescribedSource(
        owner, path, file, str(source.get("url") or ""), repository, source.get("deployKey") is not None
    )
