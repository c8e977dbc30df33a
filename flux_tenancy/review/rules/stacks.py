"""Stacks of the working tree against the rules, and their deletions against the merge base."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from flux_tenancy.components.config.errors import ConfigurationError, Problem, coded
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.stack.checks.policies import expiring_grants, freeze_warnings
from flux_tenancy.components.stack.checks.tenants import overfull_store
from flux_tenancy.components.stack.files.project import StackName, read_project_file, stack_file_name
from flux_tenancy.components.stack.files.stack_file import read_stack_file
from flux_tenancy.components.stack.files.tenant_files import unlisted_tenants
from flux_tenancy.project.described_stack import NO_STACKS, described_file, described_stacks
from flux_tenancy.project.errors import OperationError
from flux_tenancy.review.render.rendered import Render
from flux_tenancy.review.render.stack import load_and_render
from flux_tenancy.review.rules.table import Finding, RuleSetting, findings
from flux_tenancy.review.versions import merge_base, rendering


class JudgedStack(NamedTuple):
    """A stack as the rules see it.

    Attributes:
        render: what it would apply.
        setting: what the rules know of it besides.
        warnings: what breaks no rule, and will soon stop updates or is never applied.
    """

    render: Render
    setting: RuleSetting
    warnings: tuple[Message, ...] = ()


def read_stacks(project: Path, stacks: Iterable[str]) -> tuple[dict[str, JudgedStack], list[Problem]]:
    """The stacks that can be read, and the errors of those that cannot."""
    read: dict[str, JudgedStack] = {}
    problems: list[Problem] = []
    for stack in stacks:
        try:
            render, config = load_and_render(project, stack)
        except ConfigurationError as error:
            problems += error.problems
        else:
            file = read_stack_file(stack, read_project_file(project))
            warnings = (
                *expiring_grants(config),
                *freeze_warnings(config),
                *overfull_store(config, stack),
                *unlisted_tenants(config.tenants, file, project),
            )
            read[stack] = JudgedStack(render, RuleSetting.of(stack, config), warnings)
    return read, problems


@dataclass(frozen=True)
class Checked:
    """What a check of stacks has found.

    Attributes:
        findings: broken rules by stack, those that are waived included.
        warnings: what breaks no rule, and will soon stop updates, with the stack.
        problems: why some stacks, or their deletions, could not be checked.
    """

    findings: Mapping[str, Sequence[Finding]]
    warnings: Sequence[str]
    problems: Sequence[Problem]

    @property
    def breaks_a_rule(self) -> bool:
        """Whether something breaks a rule that is not waived."""
        return any(finding.waiver is None for each in self.findings.values() for finding in each)


def check_stacks(project: Path, stacks: Sequence[str], base: str = "") -> Checked:
    """Check stacks of the working tree against the rules.

    Args:
        base: what the change is to be merged into, to check what it deletes; empty for no comparison.

    Raises:
        OperationError: there is no such stack, or none at all, or Git cannot find the merge base.
    """
    if not stacks:
        raise OperationError(NO_STACKS())
    for stack in stacks:
        described_file(stack, project)  # An unknown stack is refused with the names of those that exist.
    read, problems = read_stacks(project, [StackName.parse(stack).stack for stack in stacks])
    before, incomparable = _earlier(project, base, read.keys()) if base else ({}, [])
    return Checked(
        {
            name: findings(render.objects, setting, before[name].objects if name in before else ())
            for name, (render, setting, _) in read.items()
        },
        [f"{name}: {coded(warning)}" for name, judged in read.items() for warning in judged.warnings],
        [*problems, *incomparable],
    )


def _earlier(project: Path, base: str, stacks: Collection[str]) -> tuple[dict[str, Render], list[Problem]]:
    """What stacks apply at the merge base, and those of which that is unknown; a new stack is in neither."""
    with merge_base(project, base) as tree:
        earlier = [stack for stack in described_stacks(tree.folder) if stack in stacks]
        with rendering(tree, earlier) as started:
            versions = started.versions() if earlier else {}
    renders = {stack: version.render for stack, version in versions.items() if version.render}
    problems = [
        Problem(
            stack_file_name(stack),
            "",
            Message(
                "FT-REV-122", f"cannot be compared with the merge base: {version.note}", "compare the deletions by hand"
            ),
        )
        for stack, version in versions.items()
        if version.render is None
    ]
    return renders, problems
