"""Values that differ from one run of the program to the next, and updates that follow a saved plan.

`pulumi up --plan` holds every input and output to the value that the preview had, unless the preview did not know it.
So a preview does not know what is made by chance, nor, where its plan is saved, what the cluster will show in the end.

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

    The resource keeps the value that it was created with; the state, and not a later run, says what it is.

    Args:
        make: makes a value; it is not called in a preview.
    """
    return _unknown() if pulumi.runtime.is_dry_run() else pulumi.Output.from_input(make())


def unplanned(observed: pulumi.Output[T]) -> pulumi.Output[T]:
    """What the cluster shows, which no plan can promise; any other preview tells it as it is now."""
    return _unknown() if pulumi.runtime.is_dry_run() and makes_plan() else observed


def _unknown() -> pulumi.Output[Any]:
    return pulumi.Output.from_input(pulumi.UNKNOWN)
