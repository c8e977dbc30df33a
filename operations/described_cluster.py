"""The cluster and the policies as the stack file describes them, read without the tenants' secrets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from components.cluster.config import ClusterConfig, Previewer
from components.config.errors import MisplacedValueError, Problem
from components.config.sealed import SealedText
from components.config.section import Section
from components.policies.config import PoliciesConfig
from components.stack.messages import dotted, message
from components.stack.origins import stack_file_name
from components.stack.stack_file import is_encrypted
from operations.described_stack import described_section
from operations.errors import invalid
from operations.pulumi_config import PulumiConfig

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


def described_previewers(stack: str, project: Path) -> tuple[Previewer, ...]:
    """Who may preview a stack; an encrypted kubeconfig stays encrypted.

    Raises:
        OperationError: the stack does not exist, or its section `cluster` is not valid.
    """
    section = described_section(stack, "cluster", project)
    if is_encrypted(section.get(_CONTENT)):
        section = {**section, _CONTENT: SealedText.of(_CONTENT, section[_CONTENT]["secure"], salt="")}
    return _checked(ClusterConfig, section, stack, "cluster").previewers


def described_policies(stack: str, project: Path) -> PoliciesConfig:
    """The policies of a stack.

    Raises:
        OperationError: the stack does not exist, or its section `policies` is not valid.
    """
    return _checked(PoliciesConfig, described_section(stack, "policies", project), stack, "policies")


def _checked(model: type[_Section], section: Mapping[str, object], stack: str, name: str) -> _Section:
    try:
        return model.model_validate(section)
    except ValidationError as error:
        first = error.errors()[0]
        reason = first.get("ctx", {}).get("error")
        beside = reason.path if isinstance(reason, MisplacedValueError) else ()
        path = dotted((name, *first["loc"], *beside))
        raise invalid(Problem(stack_file_name(stack), path, message(first, show_input=False))) from None
