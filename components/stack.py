"""The configuration of the stack that is being applied, taken over from Pulumi."""

from __future__ import annotations

from pathlib import Path

import pulumi
from pulumi.runtime.config import CONFIG, is_config_secret

from components.configuration import StackConfig, load_stack


def read_stack(project: Path) -> StackConfig:
    """Read the configuration of the current stack.

    `pulumi.Config` only answers for keys that it is asked for; unknown ones are to be refused, so all of them are read.

    Raises:
        ConfigurationError: with every problem of the stack.
    """
    prefix = f"{pulumi.get_project()}:"
    values = {key.removeprefix(prefix): value for key, value in CONFIG.get().items() if key.startswith(prefix)}
    secret_keys = {key for key in values if is_config_secret(prefix + key)}
    return load_stack(pulumi.get_stack(), values, secret_keys, project)
