"""Pulumi in the lab: the CLI with its plugins, a file backend, and the stacks that are applied with them."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from semver import Version

from dev.lab import pulumi_run
from dev.lab.build import ensure, pinned_version, tools_for
from dev.lab.errors import LabError
from dev.lab.files import PROGRAM, delete_folder, make_folder, write_file
from dev.lab.git_host import GitHost
from dev.lab.processes import GARBAGE_COLLECTION
from dev.lab.pulumi_run import end
from dev.lab.pulumi_state import damaged_state
from dev.lab.settings import Settings

CLI = "pulumi"
PLUGINS = ("pulumi-resource-kubernetes", "pulumi-resource-github")
LANGUAGE_HOST = "pulumi-language-python"

# Prefix of the tool name of a composed release, and the folder of the state for it.
BUNDLES = {"flux-bundle-": "flux", "kyverno-chart-": "kyverno"}

# It protects only generated secrets of the lab; stacks of real clusters have their own secrets provider.
LAB_PASSPHRASE = "flux-tenancy-lab"

STACK_VARIABLE = "PULUMI_STACK"
"""The current stack for `pulumi`, which overrides `pulumi stack select`."""

FOLDER_VARIABLE = "PULUMI_OPTION_CWD"
"""The folder in which `pulumi` runs, like its option `--cwd`; empty for the current folder."""


class LabPulumi:
    """The lab's Pulumi; creating the object installs nothing.

    Attributes:
        folder: its part of the state.
        bin: folder with `pulumi`, for PATH.
    """

    def __init__(self, settings: Settings) -> None:
        self.folder = settings.state / "pulumi"
        self.bin = self.folder / "bin"
        self._runs = self.folder / "runs"
        self._settings = settings

    def tools(self) -> list[str]:
        """Names of the tools to build: none if an official Pulumi of a suitable version is installed."""
        return [] if self._official() else [CLI, *PLUGINS]

    def install(self) -> None:
        """Install the CLI, its plugins and the language host for `environment()`.

        Raises:
            LabError: the CLI in $PULUMI is not suitable, or the state cannot be written.
        """
        home = make_folder(self.folder / "home")
        plugins = home / "plugins"
        _without_logs(home / "logs")
        make_folder(self._backend)
        write_file(self._passphrase, LAB_PASSPHRASE)
        # From versions of the lab without a launcher; the CLI warns about a language host on PATH.
        (self.bin / LANGUAGE_HOST).unlink(missing_ok=True)
        official = self._official()
        if official:
            for folder in self._plugin_folders().values():
                _link(_official_plugins() / folder, plugins / folder)
            self._install_launcher(official)
            return
        tools = ensure(self._settings, [CLI, *PLUGINS])
        engine = self.folder / "engine"
        # Not a symbolic link: the CLI would follow it, and warn at every call that the language host is missing there.
        _place(tools[CLI], engine / CLI)
        for plugin, folder in self._plugin_folders().items():
            _link(tools[plugin], plugins / folder / plugin)
        write_file(engine / LANGUAGE_HOST, self._language_host_script(), PROGRAM)
        self._install_launcher(engine / CLI)

    def stop(self) -> None:
        """End all running `pulumi` processes of the lab, and those that killed ones have left."""
        end(self._runs)

    def environment(self) -> dict[str, str]:
        """The lab's backend, plugins, secrets and Git host as environment variables for `pulumi`, without PATH."""
        token = GitHost(self._settings).token_file
        return {
            "PULUMI_HOME": str(self.folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{self._backend}",
            "PULUMI_CONFIG_PASSPHRASE_FILE": str(self._passphrase),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            **({"GITHUB_TOKEN": token.read_text().strip()} if token.exists() else {}),
        }

    def on_path(self, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
        """The same, with PATH, for commands that run `pulumi`."""
        return {**self.environment(), "PATH": f"{self.bin}{os.pathsep}{environ.get('PATH', os.defpath)}"}

    def run(
        self,
        arguments: Sequence[str],
        project: Path,
        environ: Mapping[str, str] = os.environ,
        **options: Any,
    ) -> subprocess.CompletedProcess[str]:
        """Run one `pulumi` command in a project; `options` are those of `subprocess.run`.

        The stack and the folder that are set in the user's shell are ignored.
        """
        inherited = {name: value for name, value in environ.items() if name not in (STACK_VARIABLE, FOLDER_VARIABLE)}
        return subprocess.run(
            [str(self.bin / CLI), *arguments, "--non-interactive"],
            cwd=project,
            env={**inherited, **self.on_path(environ)},
            text=True,
            check=False,
            **options,
        )

    def run_beside(self, command: Sequence[str], project: Path) -> subprocess.CompletedProcess[str]:
        """Run a command in a project that itself runs `pulumi`."""
        environment = {**os.environ, **self.on_path()}
        return subprocess.run(command, cwd=project, env=environment, text=True, check=False, capture_output=True)

    def select(self, stack: str, project: Path) -> None:
        """Run `pulumi stack select --create`.

        Raises:
            LabError: the command failed; with its output.
        """
        done = self.run(["stack", "select", "--create", "--stack", stack], project, capture_output=True)
        if done.returncode:
            raise self.damage() or LabError(
                f"cannot select the stack {stack}: {done.stderr.strip()}", f"check Pulumi.{stack}.yaml"
            )

    def selected(self, project: Path) -> str | None:
        """The current stack of a project, as set by `pulumi stack select`."""
        done = self.run(["stack", "--show-name"], project, capture_output=True)
        return done.stdout.strip() or None if done.returncode == 0 else None

    def remove(self, stack: str, project: Path) -> None:
        """Remove the state of a stack whose cluster is about to be deleted, if there is one.

        Its file and the current stack are not changed.

        Raises:
            LabError: a command failed; with its output.
        """
        if not (self.bin / CLI).exists() or stack not in self._stacks(project):
            return
        current = self.selected(project)
        # An interrupted update leaves its lock.
        self._run_or_fail(["cancel", "--yes", "--stack", stack], project)
        options = ["--yes", "--force", "--preserve-config", "--remove-backups", "--stack", stack]
        self._run_or_fail(["stack", "rm", *options], project)
        # After `stack rm` no stack is selected.
        if current not in (None, stack):
            self.select(current, project)

    def damage(self) -> LabError | None:
        """The error of a damaged state, if that is why `pulumi` fails."""
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
                "fix the error and run the command again; `make down` without STACK deletes the whole lab",
            )
        return done.stdout

    @property
    def _passphrase(self) -> Path:
        return self.folder / "passphrase"

    def _plugin_folders(self) -> dict[str, str]:
        """The folder of each plugin in `plugins`, e.g. resource-kubernetes-v4.25.0."""
        return {
            plugin: f"{plugin.removeprefix('pulumi-')}-{pinned_version(self._settings, plugin)}" for plugin in PLUGINS
        }

    def _official(self) -> Path | None:
        """The CLI in $PULUMI, or a suitable one on PATH with its language host and plugins."""
        named = os.environ.get("PULUMI")
        if named:
            if reason := self._misfit(Path(named)):
                raise LabError(f"PULUMI is {named}, which {reason}", "set it to another one or unset it")
            return Path(named).resolve()
        found = shutil.which(CLI)
        if found is None or Path(found).parent == self.bin or self._misfit(Path(found)):
            return None
        return Path(found).resolve()

    def _misfit(self, cli: Path) -> str | None:
        """Why a CLI cannot be used instead of the built one; None if it can."""
        wanted = pinned_version(self._settings, CLI)
        try:
            found = subprocess.run([cli, "version"], capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            return "cannot be run"
        release, oldest = (Version.parse(each.removeprefix("v")).finalize_version() for each in (found, wanted))
        if release.major != oldest.major or release < oldest:
            return f"is {found}; the SDK needs {wanted} or a later version with the same major number"
        if not cli.resolve().with_name(LANGUAGE_HOST).exists():
            return f"has no {LANGUAGE_HOST} in its folder"
        for folder in self._plugin_folders().values():
            if not (_official_plugins() / folder).is_dir():
                return f"has no {folder}; `pulumi plugin install` installs it"
        return None

    def _install_launcher(self, engine: Path) -> None:
        """Write `pulumi` for PATH: a script, since the CLI would follow a link."""
        arguments = [sys.executable, "-I", "-S", pulumi_run.__file__, str(engine), str(self._runs)]
        environment = " ".join(f'{name}="${{{name}:-{value}}}"' for name, value in GARBAGE_COLLECTION.items())
        write_file(self.bin / CLI, f'#!/bin/sh\n{environment} exec {shlex.join(arguments)} "$@"\n', PROGRAM)

    def _language_host_script(self) -> str:
        environment = f"PYTHONPATH='{self._settings.project}'"
        return f"#!/bin/sh\n{environment} exec '{sys.executable}' -m dev.lab.language_host \"$@\"\n"


def up(settings: Settings, stack: str) -> None:
    """Run `pulumi up --yes` for a stack of the project; its cluster runs, and Pulumi and bundles are installed.

    Raises:
        LabError: the update failed; Pulumi has printed the reason.
    """
    pulumi = LabPulumi(settings)
    project = settings.pulumi_project
    pulumi.select(stack, project)
    if pulumi.run(["up", "--yes", "--skip-preview", "--suppress-outputs", "--stack", stack], project).returncode:
        raise pulumi.damage() or LabError(
            f"`pulumi up` of the stack {stack} failed", "fix the error above and run the command again"
        )


def provide_bundles(settings: Settings) -> None:
    """Link the composed releases of Flux and Kyverno to the paths in the stack files.

    These paths have to be the same on every machine, unlike those of the cache.
    """
    wanted = [name for name in tools_for(settings, "up") if name.startswith(tuple(BUNDLES))]
    for name, bundle in ensure(settings, wanted).items():
        prefix = next(prefix for prefix in BUNDLES if name.startswith(prefix))
        _link(bundle, settings.state / BUNDLES[prefix] / f"v{name.removeprefix(prefix)}" / bundle.name)


def _without_logs(folder: Path) -> None:
    """Keep the CLI from logging every command, with all properties of all resources.

    To write, compress and encrypt the log takes up to half of the CPU time of a command, and nobody reads it here.
    No setting turns it off, but without its folder the CLI goes on without it.

    Source: StartLogging in pkg/logging/encrypted.go of Pulumi
    """
    if folder.is_dir():
        delete_folder(folder)
    write_file(folder, "Not a folder, so that Pulumi keeps no logs here.\n")


def _official_plugins() -> Path:
    return Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi") / "plugins"


def _link(target: Path, link: Path) -> None:
    with _replacing(link) as new:
        new.symlink_to(target)


def _place(file: Path, copy: Path) -> None:
    """Create a hard link to a file, or a copy if the folders are on different file systems."""
    with _replacing(copy) as new:
        try:
            new.hardlink_to(file)
        except OSError:
            shutil.copy2(file, new)


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A path to create, which then replaces ``path`` atomically."""
    make_folder(path.parent)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.unlink(missing_ok=True)
    yield new
    new.replace(path)
