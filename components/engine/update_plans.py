"""Values that differ between runs of the program, and updates that follow a saved plan.

`pulumi up --plan` requires every input and output to have the same value as in the preview, unless it was unknown
there. So random values are unknown in a preview and, if its plan is saved, so are values read from the cluster.

Source: https://www.pulumi.com/docs/iac/operations/update-plans/, and `Plan` in pkg/resource/deploy/plan.go of Pulumi
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pulumi

from components.engine.pulumi_command import makes_plan

T = TypeVar("T")


def made_once(make: Callable[[], str]) -> pulumi.Output[str]:
    """A random value for an input whose changes are ignored (`ignore_changes`).

    The resource keeps the value that it was created with, which is in the state. Later runs do not change it.

    Args:
        make: returns a value; it is not called in a preview.
    """
    return _unknown() if pulumi.runtime.is_dry_run() else pulumi.Output.from_input(make())


def unplanned(observed: pulumi.Output[T]) -> pulumi.Output[T]:
    """A value read from the cluster: unknown in a preview whose plan is saved, current in any other preview."""
    return _unknown() if pulumi.runtime.is_dry_run() and makes_plan() else observed


def _unknown() -> pulumi.Output[Any]:
    return pulumi.Output.from_input(pulumi.UNKNOWN)
