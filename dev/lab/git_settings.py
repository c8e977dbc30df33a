"""Settings of git in the user's shell for the lab's Git host only, as environment variables."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from dev.lab import git_credentials
from dev.lab.files import write_file
from dev.lab.git import IDENTITY
from dev.lab.git_host import GitHost

_COUNT, _KEY, _VALUE = "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"
"""https://git-scm.com/docs/git-config#ENVIRONMENT"""


def git_variables(host: GitHost, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Environment variables with which git needs no password for the lab's Git host, and no user name in clones of it.

    The password stays in the host's file. A user name that is configured in git is used; other repositories are not
    affected. Other settings for git in the environment are kept.
    """
    settings = _settings(host, environ)
    keys = {key for key, _ in settings}
    all_settings = [(key, value) for key, value in _given(environ) if key not in keys] + settings
    numbered = [
        (name, value)
        for number, (key, content) in enumerate(all_settings)
        for name, value in ((f"{_KEY}{number}", key), (f"{_VALUE}{number}", content))
    ]
    return {_COUNT: str(len(all_settings)), **dict(numbered)}


def _settings(host: GitHost, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    helper = shlex.join([sys.executable, "-I", "-S", git_credentials.__file__, str(host.gitea.credentials_file)])
    settings: list[tuple[str, str]] = []
    for address in (host.gitea.address, host.proxy.address, host.proxy.secure_address):
        # The empty one disables the user's own helpers, which would store the password elsewhere.
        settings += [(f"credential.{address}.helper", ""), (f"credential.{address}.helper", f"!{helper}")]
    settings.append((f"http.{host.proxy.secure_address}.sslCAInfo", str(host.certificate_authority)))
    if not _has_identity(environ):
        file = _identity_file(host)
        # Git before 2.36 ignores this condition.
        remotes = (f"{host.gitea.address}/**", f"{host.proxy.address}/**", f"{host.proxy.secure_address}/**")
        settings += [(f"includeIf.hasconfig:remote.*.url:{remote}.path", str(file)) for remote in remotes]
    return settings


def _identity_file(host: GitHost) -> Path:
    name, email = IDENTITY
    file = host.gitea.folder / "identity.gitconfig"
    write_file(file, f"[user]\n\tname = {name}\n\temail = {email}\n")
    return file


def _has_identity(environ: Mapping[str, str]) -> bool:
    """Whether git has a user name outside this checkout."""
    if "GIT_AUTHOR_EMAIL" in environ or "EMAIL" in environ:
        return True
    command = ["git", "config", "--get", "user.email"]
    try:
        return subprocess.run(command, cwd=os.sep, env=dict(environ), capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return True  # without git it does not matter


def _given(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    count = environ.get(_COUNT, "")
    numbers = range(int(count)) if count.isdecimal() else range(0)
    return [
        (environ[f"{_KEY}{number}"], environ.get(f"{_VALUE}{number}", ""))
        for number in numbers
        if f"{_KEY}{number}" in environ
    ]
