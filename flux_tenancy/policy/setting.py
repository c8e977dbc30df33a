"""The stack that a policy pack judges, read as the program reads it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pulumi
from pulumi.runtime.config import CONFIG

from flux_tenancy.components.stack.current import stack_file
from flux_tenancy.components.stack.files.project_file import read_project_file
from flux_tenancy.components.stack.loading import load_stack
from flux_tenancy.components.stack.offline import load_offline
from flux_tenancy.review.rules.setting import RuleSetting

_SENT = "PULUMI_CONFIG"


def setting_of(urn: str, project: Path, environ: Mapping[str, str] = os.environ) -> RuleSetting:
    """What the rules know of the stack that a resource belongs to.

    `pulumi preview` and `pulumi up` send the configuration to the pack. `pulumi policy analyze` does not, so there the
    files of the project are read.

    Args:
        urn: URN of any resource of the stack.
        project: folder of the Pulumi project.
        environ: the environment of the pack.

    Raises:
        ConfigurationError: with every problem of the stack.
    """
    stack = urn.split(":")[2]
    if _SENT not in environ:
        return RuleSetting.of(stack, load_offline(stack, project, read_project_file(project))[0])
    prefix = f"{pulumi.get_project()}:"
    values = {key.removeprefix(prefix): value for key, value in CONFIG.get().items() if key.startswith(prefix)}
    # The pack is not told which values are secret; any of them may be, and the stack file shows which are encrypted.
    config = load_stack(stack, values, values.keys(), project, stack_file(project))
    return RuleSetting.of(stack, config)
