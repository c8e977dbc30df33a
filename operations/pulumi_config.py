"""The configuration of a stack, read and written by `pulumi config` with the stack's own secrets provider.

Values go in on standard input, since other users of the machine can read the arguments of a process.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from operations.described_stack import described_project
from operations.errors import OperationError


class PulumiConfig:
    """What `pulumi config` does with one stack.

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
        """Write public values as the list at a path, in place of what stands there.

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
        command = ["pulumi", "config", *action, "--path", key, "--stack", self.stack]
        try:
            done = subprocess.run(
                [*command, "--non-interactive"], cwd=self.project, input=value, text=True, capture_output=True
            )
        except FileNotFoundError:
            raise OperationError(
                "pulumi is not on PATH",
                "install the Pulumi CLI, or begin with `make up` where the stack is one of the lab",
            ) from None
        if done.returncode != 0:
            raise self._refusal(done.stderr)
        return done.stdout

    def _refusal(self, output: str) -> OperationError:
        """What Pulumi has said, in the words of somebody who has to go on."""
        if "no stack named" in output:
            return OperationError(
                f"Pulumi has no stack {self.stack}",
                f"`pulumi stack ls` lists them, `pulumi stack init {self.stack}` makes one",
            )
        if "passphrase" in output:
            return OperationError(
                f"the stack {self.stack} is encrypted with another passphrase, or none is set",
                "set PULUMI_CONFIG_PASSPHRASE, or PULUMI_CONFIG_PASSPHRASE_FILE to the path of a file with it",
            )
        if "PULUMI_ACCESS_TOKEN" in output:
            return OperationError("Pulumi does not know where the state is", "`pulumi login` to the stack's backend")
        said = [line.removeprefix("error: ") for line in output.splitlines() if line.strip()]
        return OperationError(
            f"Pulumi refused: {said[-1] if said else 'it does not say why'}",
            f"see whether `pulumi config --stack {self.stack}` works in the project's folder",
        )
