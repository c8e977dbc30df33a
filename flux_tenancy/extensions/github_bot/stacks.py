"""Lists the project's stacks for workflows, as outputs of a step."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.stack.config import is_production
from flux_tenancy.components.stack.files.project import StackName
from flux_tenancy.components.stack.loading import load_offline
from flux_tenancy.project.described_stack import described_file, described_stacks
from flux_tenancy.project.errors import OperationError


def step_outputs(chosen: str, project: Path) -> str:
    """The stacks as outputs of a step of GitHub Actions: `all`, `production`, and `others`, which come before it.

    Args:
        chosen: names as a JSON list; empty for all stacks of the project.
        project: folder of the project.

    Raises:
        OperationError: `chosen` is not a list of names, or has a stack that does not exist.
        ConfigurationError: a stack cannot be read.
    """
    found = _chosen(chosen, project) if chosen else described_stacks(project)
    production = [stack for stack in found if _is_production(stack, project)]
    others = [stack for stack in found if stack not in production]
    outputs = {"all": found, "others": others, "production": production}
    return "\n".join(f"{output}={json.dumps(listed)}" for output, listed in outputs.items())


def _chosen(text: str, project: Path) -> Sequence[str]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise OperationError(
            Message(
                "FT-REV-519",
                "the chosen stacks are not a list of names",
                'name them as a JSON list such as ["staging", "production"], or none for all',
            )
        )
    for name in found:
        described_file(name, project)  # An unknown stack is refused with the names of those that exist.
    return [StackName.parse(name).stack for name in found]


def _is_production(stack: str, project: Path) -> bool:
    config, _ = load_offline(stack, project)
    return is_production(stack, config)
