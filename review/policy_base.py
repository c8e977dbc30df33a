"""What a change deletes that is protected: the one rule that needs two versions of a stack."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from components.config.errors import ConfigurationError, Problem
from components.stack.offline import load_offline
from components.stack.origins import stack_file_name
from components.stack.project_file import read_project_file
from operations.described_stack import described_stacks
from review.findings import Finding, waived
from review.rendered import Render
from review.rule_setting import RuleSetting
from review.rule_wordings import NO_EARLIER_RENDER
from review.rules_environment import protected_deletions
from review.trees import merge_base
from review.versions import rendering

JudgedStack = tuple[Render, RuleSetting]
"""What a stack applies, and how the rules see it."""


def deletions(
    project: Path, base: str, present: Mapping[str, JudgedStack]
) -> tuple[dict[str, tuple[Finding, ...]], list[Problem]]:
    """The protected objects that each stack deletes since the merge base, and the stacks that cannot be compared.

    What was protected is what the earlier stack says, so a change cannot lift a protection and use it at once.

    Args:
        project: folder of the Pulumi project.
        base: what the change is to be merged into.
        present: the stacks of the working tree; those that the merge base lacks delete nothing.

    Raises:
        OperationError: Git cannot tell the merge base.
    """
    found: dict[str, tuple[Finding, ...]] = {}
    problems: list[Problem] = []
    with merge_base(project, base) as tree:
        earlier = [stack for stack in described_stacks(tree.folder) if stack in present]
        with rendering(tree.folder, earlier) as started:
            versions = started.versions() if earlier else {}
        for stack, version in versions.items():
            if version.render is None:
                problems.append(Problem(stack_file_name(stack), "", NO_EARLIER_RENDER(reason=version.note)))
                continue
            after, setting = present[stack]
            before = _setting(stack, tree.folder, setting)
            deleted = protected_deletions(version.render.objects, after.objects, before)
            found[stack] = waived(deleted, setting.waivers)
    return found, problems


def _setting(stack: str, folder: Path, present: RuleSetting) -> RuleSetting:
    """The setting of an earlier stack; today's where today's program cannot read the earlier files."""
    try:
        config, _ = load_offline(stack, folder, read_project_file(folder))
    except ConfigurationError:
        return present
    return RuleSetting.of(stack, config)
