"""The version of the program that has applied a stack: an older one does not know all that it finds in the state."""

from __future__ import annotations

from flux_tenancy.components.cluster.component import program_before
from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.installs.product import parse_version
from flux_tenancy.version import VERSION


def version_problems(state: State, stack_file: str, version: str = VERSION) -> list[Problem]:
    """The error that a program of a newer minor version has applied the stack; patch versions go both ways.

    A version that cannot be read is newer than all others.

    Args:
        state: the stack's state.
        stack_file: name of the stack's file.
        version: the version of this program.
    """
    applied = program_before(state)
    if applied is None or () < parse_version(applied)[:2] <= parse_version(version)[:2]:
        return []
    return [
        Problem(
            stack_file,
            "",
            Message(
                "FT-CFG-850",
                f"the stack was applied by flux-tenancy {printable(applied)}, and this is the older {version}, which "
                "could delete objects that it does not know",
                "set the newer version in `requirements.txt` and run `pulumi install`",
            ),
        )
    ]
