"""Git with a user name and password that do not appear in arguments, URLs or files."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dev.lab.errors import LabError
from dev.lab.processes import LOOPBACK, base_environment

IDENTITY = ("Flux tenancy lab", "lab@localhost.invalid")
"""Name and email address of commits without another author."""

_CREDENTIAL_HELPER = '!printf "username=%s\\npassword=%s\\n" "$LAB_GIT_USERNAME" "$LAB_GIT_PASSWORD"; :'


@dataclass(frozen=True)
class Git:
    """Runs git as one user of the lab's Git host, without the settings of the user who runs the lab."""

    username: str
    password: str = field(repr=False)

    def run(self, folder: Path, *arguments: str, **environment: str) -> str:
        """Run ``git`` in ``folder``.

        Args:
            folder: working directory.
            arguments: the command and its arguments.
            environment: additional environment variables, e.g. ``GIT_COMMITTER_DATE``.

        Returns:
            Its output, without surrounding white space.

        Raises:
            LabError: git is not installed, or the command fails.
        """
        try:
            done = subprocess.run(
                ("git", *arguments),
                cwd=folder,
                env={**self._environment(), **environment},
                capture_output=True,
                text=True,
                check=True,
            )
        except FileNotFoundError as error:
            raise LabError(f"cannot run git in {folder}: {error.strerror}", "install git 2.31 or later") from error
        except subprocess.CalledProcessError as error:
            raise LabError(
                f"git {arguments[0]} failed in {folder}: {error.stderr.strip()}",
                "see `make status` for the Git host; if the branch has moved on, fetch and merge first",
            ) from error
        return done.stdout.strip()

    def _environment(self) -> Mapping[str, str]:
        name, email = IDENTITY
        return base_environment() | {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "credential.helper",
            "GIT_CONFIG_VALUE_0": _CREDENTIAL_HELPER,
            "LAB_GIT_USERNAME": self.username,
            "LAB_GIT_PASSWORD": self.password,
            "GIT_AUTHOR_NAME": name,
            "GIT_AUTHOR_EMAIL": email,
            "GIT_COMMITTER_NAME": name,
            "GIT_COMMITTER_EMAIL": email,
            "NO_PROXY": LOOPBACK,
            "no_proxy": LOOPBACK,
        }
