"""`flux-tenancy`: all groups of commands.

Source of the options' names: `pulumi`, `flux` and `kubectl`
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

import typer

from flux_tenancy.command.program import MEANINGS, ExitCode, Group, Program, prepare
from flux_tenancy.version import VERSION

NAME = "flux-tenancy"
EXTENSIONS = "flux_tenancy.commands"
"""The group of the entry points of extensions: each is a command, or a `typer.Typer` with the commands of a group.

`tenant.page` adds the commands of the extension `page` to the group `tenant`.

Source: https://packaging.python.org/en/latest/guides/creating-and-discovering-plugins/#using-package-metadata
"""
_OWN = {
    "new": "root:new",
    "schemas": "root:schemas",
    "up": "root:up",
    "isolation": "isolation:isolation",
    **{group: f"{group}:app" for group in ("tenant", "key", "review", "drift", "fleet", "releases")},
}
_CWD_VARIABLE = "PULUMI_OPTION_CWD"


class _Commands(Mapping[str, Any]):
    """All commands by name, those of extensions, too. Each is imported when it is first asked for."""

    def __init__(self) -> None:
        self._found: dict[str, Any] = {}
        self._sources = {
            name: [EntryPoint(name, f"flux_tenancy.command.{value}", EXTENSIONS)] for name, value in _OWN.items()
        }
        for extension in sorted(entry_points(group=EXTENSIONS), key=attrgetter("name")):
            of = extension.name.partition(".")[0]
            self._sources.setdefault(of if of in self._sources else extension.name, []).append(extension)

    def __getitem__(self, name: str) -> Any:
        if name not in self._found:
            self._found[name] = _command(name, self._sources[name])
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


def _command(name: str, sources: Sequence[EntryPoint]) -> Any:
    """A command, or a group with the commands that extensions add to it; None if it cannot be imported."""
    program = typer.Typer(rich_markup_mode="rich")
    group = typer.Typer()
    for each in sources:
        try:
            loaded = each.load()
            if each.name != name:
                group.registered_commands += loaded.registered_commands
            elif isinstance(loaded, typer.Typer):
                group = loaded
                program.add_typer(group, name=name, cls=Group)
            else:
                program.command(name)(loaded)
        except Exception as error:
            typer.echo(f"warning: the extension {each.name} ({each.value}) cannot be used: {error}", err=True)
    if (found := typer.main.get_group(program).commands.get(name)) is not None:
        prepare(found)
    return found


_COMMANDS = _Commands()


class _Program(Program):
    """The program with all commands."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: Any = _COMMANDS


app = typer.Typer(
    name=NAME,
    cls=_Program,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog="Exit codes: " + "; ".join(f"{code.value}: {meaning}" for code, meaning in MEANINGS.items()) + ".",
)


def _print_version(given: bool | None) -> None:
    if given:
        typer.echo(VERSION)
        raise typer.Exit


@app.callback()
def _root(
    cwd: Annotated[
        Path | None,
        typer.Option(
            "--cwd",
            "-C",
            envvar=_CWD_VARIABLE,
            exists=True,
            file_okay=False,
            show_default=False,
            help="Run as if started in this folder, as `pulumi --cwd`.",
        ),
    ] = None,
    shows_version: Annotated[
        bool | None,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = None,
) -> None:
    """Operate the tenants of a Flux platform: files, keys, reviews, drift and isolation."""
    if cwd is not None:
        os.chdir(cwd)
        # `pulumi` would change its folder again, from the project's, or to another one than `--cwd`.
        os.environ.pop(_CWD_VARIABLE, None)


def main() -> None:
    """Run the program, and end the process: after a fault of its own, too, with the code of a command that failed."""
    try:
        app(prog_name=NAME)
    except Exception:
        traceback.print_exc()
        sys.exit(ExitCode.FAILED)
