"""A client for the cluster of a stack, as its files or its state describe it, and for no other one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from kubernetes import client
from pydantic import ValidationError

from flux_tenancy.components.cluster.client import ClusterUnavailable, read_facts
from flux_tenancy.components.cluster.config import ClusterConfig, connect
from flux_tenancy.components.config.errors import KeyPath, MisplacedValueError, Problem, dotted
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.stack.files.project import stack_file_name
from flux_tenancy.components.stack.files.stack_file import is_encrypted
from flux_tenancy.components.stack.files.validation_errors import message
from flux_tenancy.operations.stack.pulumi_cli import PulumiConfig, run_pulumi
from flux_tenancy.project.described_stack import described_section
from flux_tenancy.project.errors import OperationError, invalid


@contextmanager
def reaching(stack: str) -> Iterator[None]:
    """Raise an OperationError if the cluster of a stack does not answer, or not to this user."""
    try:
        yield
    except ClusterUnavailable as error:
        raise invalid(error.as_problem(stack_file_name(stack))) from None


def connect_described(stack: str, project: Path) -> client.ApiClient:
    """A client for the cluster that the kubeconfig of a stack leads to, whether or not the stack was applied to it.

    Raises:
        OperationError: the stack does not exist, names no cluster, or Pulumi cannot decrypt its kubeconfig.
        ClusterUnavailable: the kubeconfig is not valid.
    """
    return connect(described_cluster(stack, project), project)


def connect_to(stack: str, project: Path) -> client.ApiClient:
    """A client for the cluster that a stack was applied to.

    Raises:
        OperationError: the kubeconfig leads to another cluster, or Pulumi cannot say to which one it should.
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    return _checked(connect_described(stack, project), stack, recorded_cluster(stack, project))


def connect_to_read(stack: str, project: Path) -> client.ApiClient:
    """As `connect_to`, and also for users whom Pulumi tells nothing of the stack, such as those without its backend."""
    return checked_if_known(connect_described(stack, project), stack, project)


def checked_if_known(api: client.ApiClient, stack: str, project: Path) -> client.ApiClient:
    """The client, unless Pulumi says that the stack was applied to another cluster than the client's.

    Raises:
        OperationError: it says so.
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    try:
        recorded = recorded_cluster(stack, project)
    except OperationError:
        return api
    return _checked(api, stack, recorded)


def _checked(api: client.ApiClient, stack: str, recorded: str) -> client.ApiClient:
    if recorded:
        check_cluster_of(stack, read_facts(api).uid, recorded)
    return api


def recorded_cluster(stack: str, project: Path) -> str:
    """Identity of the cluster that a stack was applied to; empty before the first update.

    Raises:
        OperationError: Pulumi cannot be run, fails, or has no such stack.
    """
    outputs: dict[str, Any] = json.loads(run_pulumi(["stack", "output", "--json"], stack, project))
    return str(outputs.get("cluster", {}).get("uid", ""))


def check_cluster_of(stack: str, uid: str, recorded: str) -> None:
    """Raises OperationError if a kubeconfig leads to another cluster than the one that a stack was applied to.

    Args:
        uid: identity of the cluster that answers.
        recorded: identity of the stack's; empty before the first update.
    """
    if recorded and uid != recorded:
        raise OperationError(
            Message(
                "FT-OPS-051",
                f"{stack_file_name(stack)}: the kubeconfig leads to the cluster {uid}, but the stack was applied to "
                f"{recorded}",
                "correct cluster.kubeconfig or cluster.context",
            )
        )


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
    return section_of(ClusterConfig, section, stack_file_name(stack), ("cluster",))


def section_of(model: type[_Section], section: Mapping[str, object], file: str, path: KeyPath) -> _Section:
    """The section at a path of a stack's file; raises OperationError with its first error, without the value."""
    try:
        return model.model_validate(section)
    except ValidationError as error:
        first = error.errors()[0]
        reason = first.get("ctx", {}).get("error")
        beside = reason.path if isinstance(reason, MisplacedValueError) else ()
        problem = Problem(file, dotted((*path, *first["loc"], *beside)), message(first, show_input=False))
        raise invalid(problem) from None
