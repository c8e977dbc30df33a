"""Protected resources: the engine refuses to delete or replace them.

Source: https://www.pulumi.com/docs/iac/concepts/resources/options/protect/
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import pulumi


class ProtectedResource(NamedTuple):
    """A resource that is protected.

    Attributes:
        type: its type token, e.g. `kubernetes:core/v1:Namespace`.
        name: its name in the state.
    """

    type: str
    name: str

    @property
    def kind(self) -> str:
        return self.type.rpartition(":")[2]

    def __str__(self) -> str:
        return f"{self.type} {self.name}"

    @staticmethod
    def parse(text: str) -> ProtectedResource:
        """The resource that `str` has written."""
        return ProtectedResource(*text.split(" ", 1))


def protect(resources: Collection[ProtectedResource]) -> None:
    """Protect these resources; the engine no longer protects others. Call this before any of them is registered."""
    option = pulumi.ResourceOptions(protect=True)

    def protecting(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if (args.type_, args.name) not in resources:
            return None
        return pulumi.ResourceTransformationResult(args.props, pulumi.ResourceOptions.merge(args.opts, option))

    pulumi.runtime.register_stack_transformation(protecting)
