"""Secrets of a stack, decrypted and encrypted by `pulumi config` with the stack's own secrets provider.

Values are passed on standard input, since other users of the machine can read a process's arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from flux_tenancy.operations.stack.pulumi_cli import run_pulumi
from flux_tenancy.project.described_stack import described_file, described_project

# What a stack file says of its secrets provider, beside `config`.
# Source: ProjectStack in sdk/go/common/workspace/project.go of Pulumi
_PROVIDER_KEYS = ("secretsprovider", "encryptedkey", "encryptionsalt")
_SCRATCH_KEY = "encrypted"


@dataclass(frozen=True)
class Encrypted:
    """A value as a stack file has it.

    Attributes:
        value: the encrypted value, `{secure: …}`.
        provider: the keys beside `config` that belong to its encryption, e.g. `encryptionsalt`.
    """

    value: Mapping[str, str]
    provider: Mapping[str, str] = field(default_factory=dict)


class PulumiConfig:
    """`pulumi config` for one stack.

    Attributes:
        stack: name of the stack.
        project: folder of the Pulumi project.
    """

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
