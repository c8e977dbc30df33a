"""The `pulumi` command, run for one stack, its errors with what to do about them, and the secrets that it decrypts.

Values are passed on standard input, since other users of the machine can read a process's arguments.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from flux_tenancy.components.config.messages import Message, Wording, printable
from flux_tenancy.project.described_stack import described_file, described_project
from flux_tenancy.project.errors import OperationError

PULUMI_NOT_FOUND = Wording(
    "FT-OPS-010", "pulumi is not on PATH", "install the Pulumi CLI, or run `make up` first if the stack is in the lab"
)
UNKNOWN_TO_PULUMI = Wording(
    "FT-OPS-011",
    "Pulumi has no stack {stack}",
    "list them with `pulumi stack ls --all`; if the project was renamed, rename its stacks "
    "(docs/troubleshooting.md#a-stack-or-the-project-is-renamed); create a new one with `pulumi stack init {stack}`",
)
_STACK = "**::pulumi:pulumi:Stack::**"


def run_pulumi(arguments: Sequence[str], stack: str, project: Path, text: str = "") -> str:
    """Run `pulumi` for a stack, and return what it prints.

    Args:
        arguments: the command with its arguments, without the stack.
        text: what it reads from standard input.

    Raises:
        OperationError: it cannot be run, or it fails.
    """
    command = ["pulumi", *arguments, "--stack", stack, "--non-interactive"]
    try:
        done = subprocess.run(command, cwd=project, input=text, text=True, capture_output=True)
    except FileNotFoundError:
        raise OperationError(PULUMI_NOT_FOUND()) from None
    if done.returncode != 0:
        raise _refusal(done.stderr, done.stdout, stack)
    return done.stdout


def refuse_if_locked(stack: str, project: Path) -> None:
    """Raises OperationError if an update of the stack is in progress, or was killed: both hold its lock.

    What an update is applying is not in the state yet, so a repair beside it would undo it.
    """
    # No command asks for the lock alone.
    refresh_root(stack, project)


def refresh_root(stack: str, project: Path, *options: str) -> None:
    """Run `pulumi refresh` for the stack's own resource; nothing is behind it, so only what options ask for changes.

    Raises:
        OperationError: Pulumi cannot be run, or fails.
    """
    run_pulumi(["refresh", "--yes", "--skip-preview", "--target", _STACK, *options], stack, project)


def _refusal(said: str, printed: str, stack: str) -> OperationError:
    output = _without_notices(said)
    if "no stack named" in output:
        return OperationError(UNKNOWN_TO_PULUMI(stack=stack))
    if "passphrase" in output:
        return OperationError(
            Message(
                "FT-OPS-012",
                f"stack {stack} is encrypted with another passphrase, or no passphrase is set",
                "set PULUMI_CONFIG_PASSPHRASE, or PULUMI_CONFIG_PASSPHRASE_FILE to the path of a file that contains it",
            )
        )
    if "PULUMI_ACCESS_TOKEN" in output or "pulumi login" in output:
        return OperationError(Message("FT-OPS-013", "Pulumi is not logged in to a backend", "run `pulumi login`"))
    if "is currently locked" in output or "update is currently in progress" in output:
        holder = re.search(r"created by (.+)", output)
        return OperationError(
            Message(
                "FT-OPS-340",
                f"another Pulumi process has locked stack {stack}{f': {holder[1]}' if holder else ''}",
                f"wait for it; if it has ended, run `pulumi cancel --stack {stack}`",
            )
        )
    lines = [line.removeprefix("error: ") for line in output.splitlines() if line.strip()]
    if "failed to load checkpoint" in output:
        return OperationError(
            Message(
                "FT-OPS-341",
                f"the state of stack {stack}, or of another stack of its backend, is damaged: {lines[-1]}",
                "restore the previous state, which the backend has kept (docs/troubleshooting.md, Pulumi's state is "
                "empty or truncated)",
            )
        )
    return OperationError(
        Message(
            "FT-OPS-014",
            f"Pulumi failed: {printable(_diagnosis(printed) or (lines[-1] if lines else 'it gives no reason'))}",
            "correct it and run the command again",
        )
    )


def _diagnosis(printed: str) -> str:
    """The first error that an operation prints with its other output, on a line of its own or in its JSON."""
    try:
        diagnostics = json.loads(printed).get("diagnostics", ())
        found = [each["message"].strip() for each in diagnostics if each["severity"] == "error"]
    except (ValueError, AttributeError, KeyError, TypeError):
        lines = (line.strip() for line in printed.splitlines())
        found = [line for line in lines if line.startswith("error: ")]
    return found[0].removeprefix("error: ") if found else ""


def _without_notices(output: str) -> str:
    """What Pulumi prints from its first error on: before it, notices mention what is not the problem.

    One of them tells that PULUMI_ACCESS_TOKEN was used to log in.
    """
    lines = output.splitlines()
    errors = [index for index, line in enumerate(lines) if line.startswith("error: ")]
    return "\n".join(lines[errors[0] :]) if errors else output


# What a stack file says of its secrets provider, beside `config`.
# Source: ProjectStack in sdk/go/common/workspace/project.go of Pulumi
_PROVIDER_KEYS = ("secretsprovider", "encryptedkey", "encryptionsalt")
_SCRATCH_KEY = "encrypted"


@dataclass(frozen=True)
class Encrypted:
    """A value as a stack file has it.

    Attributes:
        provider: the keys beside `config` that belong to its encryption, e.g. `encryptionsalt`.
    """

    value: Mapping[str, str]
    provider: Mapping[str, str] = field(default_factory=dict)


class PulumiConfig:
    """`pulumi config` for one stack."""

    def __init__(self, stack: str, project: Path) -> None:
        self.stack = stack
        self.project = project

    def get(self, path: str) -> str:
        """The decrypted value at a path such as `tenants.dev-team.source.deployKey`.

        Raises:
            OperationError: Pulumi cannot be run, or refuses.
        """
        return self._run(["get"], path)

    def encrypted(self, value: str) -> Encrypted:
        """Encrypt a value without changing the stack file, which Pulumi would lay out anew.

        Pulumi writes to a file of its own, which contains nothing but the encrypted value.

        Raises:
            OperationError: Pulumi cannot be run, or refuses.
        """
        name = described_file(self.stack, self.project).name
        content = yaml.safe_load((described_project(self.project).stack_folder / name).read_text(encoding="utf-8"))
        with TemporaryDirectory() as folder:
            file = Path(folder, name)
            provider = {key: each for key, each in (content or {}).items() if key in _PROVIDER_KEYS}
            file.write_text(yaml.safe_dump(provider), encoding="utf-8")
            self._run(["set", "--secret", "--config-file", str(file)], _SCRATCH_KEY, value)
            written = yaml.safe_load(file.read_text(encoding="utf-8"))
        secret = written["config"][f"{described_project(self.project).name}:{_SCRATCH_KEY}"]
        return Encrypted(secret, {key: written[key] for key in _PROVIDER_KEYS if key in written})

    def _run(self, action: list[str], path: str, value: str = "") -> str:
        key = f"{described_project(self.project).name}:{path}"
        return run_pulumi(["config", *action, "--path", key], self.stack, self.project, value)
