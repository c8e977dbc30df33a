"""Stacks as the rules see them: what they would apply, and what is known of them besides."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from flux_tenancy.components.config.errors import ConfigurationError, Problem
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.stack.checks.freezes import freeze_warnings
from flux_tenancy.components.stack.checks.grants import expiring_grants
from flux_tenancy.components.stack.checks.store import overfull_store
from flux_tenancy.review.render.rendered import Render
from flux_tenancy.review.render.stack import load_and_render
from flux_tenancy.review.rules.setting import RuleSetting

NO_STACKS = Wording("FT-REV-120", "the project has no stacks", "describe one in Pulumi.<stack>.yaml")


class JudgedStack(NamedTuple):
    """A stack as the rules see it.

    Attributes:
        render: what it would apply.
        setting: what the rules know of it besides.
        warnings: what breaks no rule, and will soon stop updates.
    """

    render: Render
    setting: RuleSetting
    warnings: tuple[Message, ...] = ()


def read_stacks(project: Path, stacks: Iterable[str]) -> tuple[dict[str, JudgedStack], list[Problem]]:
    """The stacks that can be read, and the errors of those that cannot.

    Args:
        project: folder of the Pulumi project.
        stacks: names of the stacks.
    """
    read: dict[str, JudgedStack] = {}
    problems: list[Problem] = []
    for stack in stacks:
        try:
            render, config = load_and_render(project, stack)
        except ConfigurationError as error:
            problems += error.problems
        else:
            warnings = (*expiring_grants(config), *freeze_warnings(config), *overfull_store(config, stack))
            read[stack] = JudgedStack(render, RuleSetting.of(stack, config), warnings)
    return read, problems
