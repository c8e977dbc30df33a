"""The configuration of a stack, read and written by `pulumi config` with the stack's own secrets provider.

Values are passed on standard input, since other users of the machine can read a process's arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from operations.described_stack import described_project
from operations.pulumi_cli import run_pulumi


class PulumiConfig:
    """`pulumi config` for one stack.

    Attributes:
        stack: name of the stack.
        project: folder of the Pulumi project.
    """

    def __init__(self, stack: str, project: Path) -> None:
        self.stack = stack
        self.project = project

    def set_secret(self, path: str, value: str) -> None:
        """Encrypt a value and write it to a path such as `tenants.dev-team.source.deployKey`.

        Raises:
            OperationError: Pulumi cannot be run, or refuses.
        """
        self._run(["set", "--secret"], path, value)

    def set_list(self, path: str, values: Sequence[str]) -> None:
        """Replace the list at a path by public values.

        Raises:
            OperationError: Pulumi cannot be run, or refuses.
        """
        self._run(["rm"], path)
        for index, value in enumerate(values):
            self._run(["set", "--plaintext"], f"{path}[{index}]", value)

    def get(self, path: str) -> str:
        """The decrypted value at a path.

        Raises:
            OperationError: Pulumi cannot be run, or refuses.
        """
        return self._run(["get"], path)

    def _run(self, action: list[str], path: str, value: str = "") -> str:
        key = f"{described_project(self.project).name}:{path}"
        return run_pulumi(["config", *action, "--path", key], self.stack, self.project, value)
