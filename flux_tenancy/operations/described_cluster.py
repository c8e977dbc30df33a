"""The cluster and the policies as the stack file describes them, read without the tenants' secrets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from flux_tenancy.components.cluster.config import ClusterConfig
from flux_tenancy.components.cluster.subjects import Subject
from flux_tenancy.components.config.errors import KeyPath, MisplacedValueError, Problem, dotted
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.sealed import SealedText
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.policies.config import PoliciesConfig
from flux_tenancy.components.policies.policy import Policy
from flux_tenancy.components.policies.policy import Subject as PolicySubject
from flux_tenancy.components.policies.table import is_needed, policies
from flux_tenancy.components.stack.files.names import Origins, stack_file_name
from flux_tenancy.components.stack.files.stack_file import is_encrypted
from flux_tenancy.components.stack.files.validation_errors import message
from flux_tenancy.components.tenant.grants import Grant
from flux_tenancy.components.tenant.kinds import OpenedKind
from flux_tenancy.operations.pulumi_config import PulumiConfig
from flux_tenancy.project.described_stack import TENANTS, described_section, described_tenants
from flux_tenancy.project.errors import invalid

_Section = TypeVar("_Section", bound=Section)
_CONTENT = "kubeconfigContent"


def described_cluster(stack: str, project: Path) -> ClusterConfig:
    """The cluster of a stack; Pulumi decrypts the kubeconfig if the stack contains it.

    Raises:
        OperationError: the stack does not exist, names no cluster, or Pulumi cannot decrypt it.
    """
    section = described_section(stack, "cluster", project)
    if is_encrypted(section.get(_CONTENT)):
        section = {**section, _CONTENT: PulumiConfig(stack, project).get(f"cluster.{_CONTENT}")}
    return _checked(ClusterConfig, section, stack, "cluster")


def described_previewers(stack: str, project: Path) -> tuple[Subject, ...]:
    """Who may preview a stack; an encrypted kubeconfig stays encrypted.

    Raises:
        OperationError: the stack does not exist, or its section `cluster` is not valid.
    """
    section = described_section(stack, "cluster", project)
    if is_encrypted(section.get(_CONTENT)):
        section = {**section, _CONTENT: SealedText.of(_CONTENT, section[_CONTENT]["secure"], salt="")}
    return _checked(ClusterConfig, section, stack, "cluster").previewers


def described_content(stack: str, project: Path) -> tuple[PoliciesConfig, list[Policy]]:
    """The policies of a stack, and of these the ones about what tenants' objects contain.

    Raises:
        OperationError: the stack does not exist, or its section `policies` is not valid.
    """
    config = _checked(PoliciesConfig, described_section(stack, "policies", project), stack, "policies")
    lanes = bool(described_section(stack, "flux", project).get("lanes"))
    content = [each for each in policies(config) if each.subject is PolicySubject.CONTENT]
    return config, [each for each in content if is_needed(each, config, developers=False, lanes=lanes)]


def described_grants(stack: str, project: Path) -> dict[str, tuple[Grant, ...]]:
    """The grants of each tenant of a stack that has any, those that have expired included.

    Raises:
        OperationError: the stack does not exist, or a tenant's grants are not valid.
    """
    file, found = stack_file_name(stack), {}
    for tenant, merged in described_tenants(stack, project).items():
        if isinstance(merged, Problem):
            raise invalid(merged)
        if "grants" in merged.value:
            try:
                found[tenant] = _Grants.model_validate({"grants": merged.value["grants"]}).grants
            except ValidationError as error:
                path, reason = first_error(error)
                raise invalid(Origins(file, {tenant: merged}).problem((TENANTS, tenant, *path), reason)) from None
    return found


def described_kinds(stack: str, project: Path) -> tuple[OpenedKind, ...]:
    """The kinds that a stack opens to all of its tenants.

    Raises:
        OperationError: the stack does not exist, or its `tenancy.kinds` are not valid.
    """
    tenancy = described_section(stack, "tenancy", project)
    kinds = {key: value for key, value in tenancy.items() if key == "kinds"}
    return _checked(_Kinds, kinds, stack, "tenancy").kinds


class _Kinds(Section):
    """The part of the section `tenancy` that needs no secrets."""

    kinds: tuple[OpenedKind, ...] = ()


class _Grants(Section):
    """The part of a tenant that needs none of its secrets."""

    grants: tuple[Grant, ...]


def _checked(model: type[_Section], section: Mapping[str, object], stack: str, name: str) -> _Section:
    try:
        return model.model_validate(section)
    except ValidationError as error:
        path, reason = first_error(error)
        raise invalid(Problem(stack_file_name(stack), dotted((name, *path)), reason)) from None


def first_error(error: ValidationError) -> tuple[KeyPath, Message]:
    """The path and the message of the first error of a section; the message does not repeat the value."""
    first = error.errors()[0]
    reason = first.get("ctx", {}).get("error")
    beside = reason.path if isinstance(reason, MisplacedValueError) else ()
    return (*first["loc"], *beside), message(first, show_input=False)
