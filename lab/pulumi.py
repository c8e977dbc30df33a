"""Pulumi on the lab: the CLI with its plugins, a file backend of its own, and the stacks that are applied with them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab import pulumi_run
from lab.build import ensure, pinned_version, tools_for
from lab.errors import LabError
from lab.files import PROGRAM, make_folder, write_file
from lab.git_host import GitHost
from lab.pulumi_run import end
from lab.pulumi_state import damaged_state
from lab.settings import Settings

CLI = "pulumi"
PLUGINS = ("pulumi-resource-kubernetes", "pulumi-resource-github")
LANGUAGE_HOST = "pulumi-language-python"

# Composed releases by the beginning of their tool's name, with the folder of the state that they are laid in.
BUNDLES = {"flux-bundle-": "flux", "kyverno-chart-": "kyverno"}

# Protects nothing but what the lab makes up itself; stacks of real clusters have a secrets provider of their own.
LAB_PASSPHRASE = "flux-tenancy-lab"

STACK_VARIABLE = "PULUMI_STACK"
"""The current stack for `pulumi`, in the place of what `pulumi stack select` has recorded."""

FOLDER_VARIABLE = "PULUMI_OPTION_CWD"
"""The folder in which `pulumi` runs, as its option `--cwd`; empty for the current one."""


class LabPulumi:
    """The lab's Pulumi; knowing it installs nothing.

    Attributes:
        folder: its part of the state.
        bin: folder with `pulumi`, to be put on PATH.
    """

    def __init__(self, settings: Settings) -> None:
        self.folder = settings.state / "pulumi"
        self.bin = self.folder / "bin"
        self._runs = self.folder / "runs"
        self._settings = settings

    def tools(self) -> list[str]:
        """Names of the tools that have to be built: none where an official Pulumi of the right version is installed."""
        return [] if self._official() else [CLI, *PLUGINS]

    def install(self) -> None:
        """Put the CLI, its plugins and the language host where `environment()` leads to.

        Raises:
            LabError: the CLI that the user named does not fit, or the state cannot be written.
        """
        plugins = make_folder(self.folder / "home") / "plugins"
        make_folder(self._backend)
        write_file(self._passphrase, LAB_PASSPHRASE)
        # Where it was before there was a launcher; the CLI warns of one on PATH.
        (self.bin / LANGUAGE_HOST).unlink(missing_ok=True)
        official = self._official()
        if official:
            for folder in self._plugin_folders().values():
                _link(_official_plugins() / folder, plugins / folder)
            self._install_launcher(official)
            return
        tools = ensure(self._settings, [CLI, *PLUGINS])
        engine = self.folder / "engine"
        # Not a symbolic link: the CLI follows it to itself, misses the language host there and warns at every call.
        _place(tools[CLI], engine / CLI)
        for plugin, folder in self._plugin_folders().items():
            _link(tools[plugin], plugins / folder / plugin)
        write_file(engine / LANGUAGE_HOST, self._language_host_script(), PROGRAM)
        self._install_launcher(engine / CLI)

    def stop(self) -> None:
        """End every `pulumi` of the lab that runs, and what killed ones have left."""
        end(self._runs)

    def environment(self) -> dict[str, str]:
        """What makes `pulumi` use the lab's backend, plugins, secrets and Git host, without PATH."""
        token = GitHost(self._settings).token_file
        return {
            "PULUMI_HOME": str(self.folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{self._backend}",
            "PULUMI_CONFIG_PASSPHRASE_FILE": str(self._passphrase),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            **({"GITHUB_TOKEN": token.read_text().strip()} if token.exists() else {}),
        }

    def run(
        self,
        arguments: Sequence[str],
        project: Path,
        environ: Mapping[str, str] = os.environ,
        **options: Any,
    ) -> subprocess.CompletedProcess[str]:
        """Run one `pulumi` command in a project; `options` are those of `subprocess.run`.

        The stack and the folder that the user's shell has chosen do not count here.
        """
        path = f"{self.bin}{os.pathsep}{environ.get('PATH', os.defpath)}"
        inherited = {name: value for name, value in environ.items() if name not in (STACK_VARIABLE, FOLDER_VARIABLE)}
        return subprocess.run(
            [str(self.bin / CLI), *arguments, "--non-interactive"],
            cwd=project,
            env={**inherited, **self.environment(), "PATH": path},
            text=True,
            check=False,
            **options,
        )

    def select(self, stack: str, project: Path) -> None:
        """Make the stack exist and the current one, as `pulumi stack select --create` does.

        Raises:
            LabError: with what Pulumi says.
        """
        done = self.run(["stack", "select", "--create", "--stack", stack], project, capture_output=True)
        if done.returncode:
            raise self.damage() or LabError(
                f"the stack {stack} cannot be selected: {done.stderr.strip()}", f"look at Pulumi.{stack}.yaml"
            )

    def selected(self, project: Path) -> str | None:
        """The stack that is the current one in a project, as `pulumi stack select` or `up` left it."""
        done = self.run(["stack", "--show-name"], project, capture_output=True)
        return done.stdout.strip() or None if done.returncode == 0 else None

    def remove(self, stack: str, project: Path) -> None:
        """Forget a stack whose cluster is going to be deleted; its file and the current stack stay as they are.

        Nothing is done where there is no such stack, or no Pulumi yet.

        Raises:
            LabError: with what Pulumi says.
        """
        if not (self.bin / CLI).exists() or stack not in self._stacks(project):
            return
        current = self.selected(project)
        # An interrupted update has left its lock.
        self._run_or_fail(["cancel", "--yes", "--stack", stack], project)
        options = ["--yes", "--force", "--preserve-config", "--remove-backups", "--stack", stack]
        self._run_or_fail(["stack", "rm", *options], project)
        # `stack rm` leaves no stack selected, whichever it was.
        if current not in (None, stack):
            self.select(current, project)

    def damage(self) -> LabError | None:
        """Why `pulumi` fails, if it is for the state of a stack that is damaged."""
        return damaged_state(self._backend)

    @property
    def _backend(self) -> Path:
        return self.folder / "backend"

    def _stacks(self, project: Path) -> list[str]:
        return [entry["name"] for entry in json.loads(self._run_or_fail(["stack", "ls", "--json"], project))]

    def _run_or_fail(self, arguments: Sequence[str], project: Path) -> str:
        done = self.run(arguments, project, capture_output=True)
        if done.returncode:
            raise self.damage() or LabError(
                f"`pulumi {' '.join(arguments)}` failed: {done.stderr.strip()}",
                "mend what it says and run the command again; `make down` without STACK deletes the whole lab",
            )
        return done.stdout

    @property
    def _passphrase(self) -> Path:
        return self.folder / "passphrase"

    def _plugin_folders(self) -> dict[str, str]:
        """The folder below `plugins` in which Pulumi looks for each plugin, e.g. resource-kubernetes-v4.25.0."""
        return {
            plugin: f"{plugin.removeprefix('pulumi-')}-{pinned_version(self._settings, plugin)}" for plugin in PLUGINS
        }

    def _official(self) -> Path | None:
        """The CLI that the user named in $PULUMI, or one on PATH that fits and has what it needs beside it."""
        named = os.environ.get("PULUMI")
        if named:
            if reason := self._misfit(Path(named)):
                raise LabError(f"PULUMI names {named}, which {reason}", "name another one or unset PULUMI")
            return Path(named).resolve()
        found = shutil.which(CLI)
        if found is None or Path(found).parent == self.bin or self._misfit(Path(found)):
            return None
        return Path(found).resolve()

    def _misfit(self, cli: Path) -> str | None:
        """Why a CLI cannot take the place of the built one."""
        wanted = pinned_version(self._settings, CLI)
        try:
            found = subprocess.run([cli, "version"], capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            return "cannot be run"
        if _numbers(found)[:1] != _numbers(wanted)[:1] or _numbers(found) < _numbers(wanted):
            return f"is {found}; the SDK needs {wanted} or a later one of the same major version"
        if not cli.resolve().with_name(LANGUAGE_HOST).exists():
            return f"has no {LANGUAGE_HOST} beside it"
        for folder in self._plugin_folders().values():
            if not (_official_plugins() / folder).is_dir():
                return f"has no {folder}; `pulumi plugin install` gets it"
        return None

    def _install_launcher(self, engine: Path) -> None:
        """Put `pulumi` on PATH: a script, since a link would be followed."""
        arguments = [sys.executable, "-I", "-S", pulumi_run.__file__, str(engine), str(self._runs)]
        write_file(self.bin / CLI, f'#!/bin/sh\nexec {shlex.join(arguments)} "$@"\n', PROGRAM)

    def _language_host_script(self) -> str:
        return f"#!/bin/sh\nPYTHONPATH='{self._settings.project}' exec '{sys.executable}' -m lab.language_host \"$@\"\n"


def up(settings: Settings, stack: str) -> None:
    """Apply a stack of the project to its running cluster, as `pulumi up --yes` does; Pulumi and bundles are in place.

    Raises:
        LabError: the update failed; Pulumi has said why.
    """
    pulumi = LabPulumi(settings)
    project = settings.pulumi_project
    pulumi.select(stack, project)
    if pulumi.run(["up", "--yes", "--skip-preview", "--stack", stack], project).returncode:
        raise pulumi.damage() or LabError(
            f"`pulumi up` of the stack {stack} failed", "mend what it says above and run the command again"
        )


def provide_bundles(settings: Settings) -> None:
    """Lay the composed releases of Flux and Kyverno where the project's stacks look for them.

    The path in a stack file must be the same on every machine; the cache's is not.
    """
    wanted = [name for name in tools_for(settings, "up") if name.startswith(tuple(BUNDLES))]
    for name, bundle in ensure(settings, wanted).items():
        prefix = next(prefix for prefix in BUNDLES if name.startswith(prefix))
        _link(bundle, settings.state / BUNDLES[prefix] / f"v{name.removeprefix(prefix)}" / bundle.name)


def _official_plugins() -> Path:
    return Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi") / "plugins"


def _link(target: Path, link: Path) -> None:
    make_folder(link.parent)
    partial = link.with_name(f".{link.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)
    partial.symlink_to(target)
    partial.replace(link)


def _place(file: Path, copy: Path) -> None:
    """A second name for a file, or a copy where the folders are on two file systems."""
    make_folder(copy.parent)
    partial = copy.with_name(f".{copy.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)
    try:
        partial.hardlink_to(file)
    except OSError:
        shutil.copy2(file, partial)
    partial.replace(copy)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.removeprefix("v").split("-")[0].split("."))
