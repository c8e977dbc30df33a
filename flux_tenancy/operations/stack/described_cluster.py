"""What commands need of a stack that was applied: its cluster, and the whole of it without secrets."""

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
from flux_tenancy.components.policies.policy import Policy
from flux_tenancy.components.policies.policy import Subject as PolicySubject
from flux_tenancy.components.policies.table import is_needed, policies
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.files.names import stack_file_name
from flux_tenancy.components.stack.files.stack_file import is_encrypted
from flux_tenancy.components.stack.files.validation_errors import message
from flux_tenancy.components.stack.loading import load_offline
from flux_tenancy.operations.stack.pulumi_config import PulumiConfig
from flux_tenancy.project.described_stack import described_file, described_section
from flux_tenancy.project.errors import invalid, reading_files

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


def applied_config(stack: str, project: Path) -> StackConfig:
    """The stack with stand-ins for its secrets; sections are not compared, since grants that have expired still apply.

    Raises:
        OperationError: the stack does not exist, or a section of it is not valid.
    """
    described_file(stack, project)  # An unknown stack is refused with the names of those that exist.
    with reading_files():
        return load_offline(stack, project, compare=False)[0]


def content_policies(config: StackConfig) -> list[Policy]:
    """The policies of a stack about what tenants' objects contain."""
    content = [each for each in policies(config.policies) if each.subject is PolicySubject.CONTENT]
    lanes = bool(config.flux.lanes)
    return [each for each in content if is_needed(each, config.policies, developers=False, lanes=lanes, freezes=False)]


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
