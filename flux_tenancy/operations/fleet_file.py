"""`fleet.yaml`: the stacks of a project in waves, and the same order for CI and for the Pulumi Kubernetes Operator."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from flux_tenancy.components.config.errors import ConfigurationError, Problem, dotted
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import DnsLabel, Duration
from flux_tenancy.components.config.yaml_files import read_mapping
from flux_tenancy.components.stack.files.names import StackName
from flux_tenancy.components.stack.files.validation_errors import message
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.project.described_stack import described_stacks
from flux_tenancy.project.errors import OperationError, invalid

FILE = "fleet.yaml"
NO_FILE = Wording("FT-CFG-870", "the project has no {file}", "list the stacks in waves there (docs/fleet.md)")
OPERATOR_NAME_LIMIT = 42
"""Characters of a Stack's name: the operator appends to it. Source: docs of pulumi-kubernetes-operator 2"""
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9]+")


class Wave(Section):
    """Stacks that are updated at the same time."""

    name: DnsLabel = Field(description="Name of the wave.")
    stacks: tuple[str, ...] = Field(
        min_length=1, description="Names of its stacks, with organization and project if the backend needs them."
    )


class Fleet(Section):
    """The file `fleet.yaml`."""

    waves: tuple[Wave, ...] = Field(min_length=1, description="The waves in their order.")
    parallel: int = Field(4, ge=1, le=100, description="How many stacks of a wave run at the same time.")
    ready_timeout: Duration = Field(
        "10m", description="How long the tenants of a wave may take to become ready before the next wave starts."
    )

    @property
    def wave_of(self) -> Mapping[str, str]:
        """The name of the wave of each stack, in the order of the file."""
        return {stack: wave.name for wave in self.waves for stack in wave.stacks}


def read_fleet(project: Path) -> Fleet:
    """Read and check the file.

    Args:
        project: folder of the Pulumi project.

    Raises:
        OperationError: there is no such file, or it is not valid; with every problem of it.
    """
    if not (project / FILE).is_file():
        raise OperationError(NO_FILE(file=FILE))
    document = read_mapping(project / FILE, FILE)
    if isinstance(document, Problem):
        raise invalid(document)
    try:
        fleet = Fleet.model_validate(document)
    except ValidationError as error:
        # Below a key that no stack has, so that no key of a stack is suggested.
        found = [(each["loc"], message(each | {"loc": (FILE, *each["loc"])}, True)) for each in error.errors()]
        raise invalid(*(Problem(FILE, dotted(path), said) for path, said in found)) from None
    if problems := list(_problems(fleet, described_stacks(project))):
        raise invalid(*problems)
    return fleet


def _problems(fleet: Fleet, known: Sequence[str]) -> Iterator[Problem]:
    waves: dict[str, str] = {}
    names: set[str] = set()
    for number, wave in enumerate(fleet.waves):
        if wave.name in names:
            said = Message("FT-CFG-871", f"wave {wave.name!r} is listed twice", "rename one of them")
            yield Problem(FILE, f"waves[{number}].name", said)
        names.add(wave.name)
        for index, stack in enumerate(wave.stacks):
            path = f"waves[{number}].stacks[{index}]"
            try:
                parsed = StackName.parse(stack)
            except ConfigurationError as error:
                yield from (Problem(FILE, path, each.message) for each in error.problems)
                continue
            name = parsed.stack
            if name not in known:
                close = get_close_matches(name, known, n=1, cutoff=0.8)
                meant = f"did you mean {close[0]!r}?" if close else f"the project has {', '.join(known) or 'none'}"
                yield Problem(FILE, path, Message("FT-CFG-872", f"stack {stack!r} has no {parsed.file}", f"{meant}"))
            elif name in waves:
                said = Message(
                    "FT-CFG-873", f"stack {stack!r} is already in wave {waves[name]!r}", "remove one of the two"
                )
                yield Problem(FILE, path, said)
            waves.setdefault(name, wave.name)


def ci_matrix(fleet: Fleet) -> dict[str, Any]:
    """The waves as strategies of a workflow's jobs, by name: each job needs that of the wave before.

    Source: https://docs.github.com/actions/reference/workflows-and-actions/workflow-syntax#jobsjob_idstrategy
    """
    return {
        wave.name: {"fail-fast": True, "max-parallel": fleet.parallel, "matrix": {"stack": [*wave.stacks]}}
        for wave in fleet.waves
    }


def operator_stacks(fleet: Fleet, project: str, organization: str, repository: str, branch: str) -> list[Manifest]:
    """The fleet as Stacks of the Pulumi Kubernetes Operator; each waits for those of the wave before.

    Args:
        fleet: the fleet.
        project: name of the Pulumi project.
        organization: owner of the stacks that name none; `organization` in a self-managed backend.
        repository: URL of the project's Git repository.
        branch: its branch.

    Source: https://github.com/pulumi/pulumi-kubernetes-operator/blob/master/docs/stacks.md
    """
    found: list[Manifest] = []
    before: tuple[str, ...] = ()
    for wave in fleet.waves:
        stacks = [StackName.parse(each) for each in wave.stacks]
        for each in stacks:
            spec: Manifest = {
                "stack": f"{each.organization or organization}/{project}/{each.stack}",
                "projectRepo": repository,
                "branch": branch,
                "destroyOnFinalize": False,
            }
            if before:
                spec["prerequisites"] = [{"name": name} for name in before]
            found.append(
                {
                    "apiVersion": "pulumi.com/v1",
                    "kind": "Stack",
                    "metadata": {
                        "name": operator_name(project, each.stack),
                        "labels": {"flux-tenancy/wave": wave.name},
                    },
                    "spec": spec,
                }
            )
        before = tuple(operator_name(project, each.stack) for each in stacks)
    return found


def operator_name(project: str, stack: str) -> str:
    """The name of a stack's object: a DNS label of at most OPERATOR_NAME_LIMIT characters, different for each stack."""
    plain = f"{project}-{stack}"
    name = _NOT_IN_A_NAME.sub("-", plain.lower()).strip("-")
    if name == plain and len(name) <= OPERATOR_NAME_LIMIT:
        return name
    mark = sha256(plain.encode()).hexdigest()[:8]
    return f"{name[: OPERATOR_NAME_LIMIT - len(mark) - 1].rstrip('-')}-{mark}"
