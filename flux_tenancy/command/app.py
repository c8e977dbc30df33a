"""`flux-tenancy`: all groups of commands.

Source of the options' names: `pulumi`, `flux` and `kubectl`
"""

from __future__ import annotations

import os
import sys
import traceback
from importlib.metadata import entry_points
from operator import attrgetter
from pathlib import Path
from typing import Annotated

import typer

from flux_tenancy.command import drift, fleet, isolation, key, releases, review, tenant
from flux_tenancy.command.program import MEANINGS, ExitCode, Group, Program
from flux_tenancy.command.root import new, schemas, up
from flux_tenancy.version import VERSION

NAME = "flux-tenancy"
EXTENSIONS = "flux_tenancy.commands"
"""The group of the entry points of extensions: each is a command, or a `typer.Typer` with the commands of a group.

`tenant.page` adds the commands of the extension `page` to the group `tenant`.

Source: https://packaging.python.org/en/latest/guides/creating-and-discovering-plugins/#using-package-metadata
"""
_CWD_VARIABLE = "PULUMI_OPTION_CWD"

app = typer.Typer(
    name=NAME,
    cls=Program,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog="Exit codes: " + "; ".join(f"{code.value}: {meaning}" for code, meaning in MEANINGS.items()) + ".",
)
app.command()(new)
app.command()(schemas)
app.command()(up)
_groups = {
    "tenant": tenant.app,
    "key": key.app,
    "review": review.app,
    "drift": drift.app,
    "fleet": fleet.app,
    "releases": releases.app,
}
for _name, _group in _groups.items():
    app.add_typer(_group, name=_name, cls=Group)
for _extension in sorted(entry_points(group=EXTENSIONS), key=attrgetter("name")):
    try:
        _loaded = _extension.load()
        if (_of := _extension.name.partition(".")[0]) in _groups:
            _groups[_of].registered_commands += _loaded.registered_commands
        elif isinstance(_loaded, typer.Typer):
            app.add_typer(_loaded, name=_extension.name, cls=Group)
        else:
            app.command(_extension.name)(_loaded)
    except Exception as error:
        typer.echo(f"warning: the extension {_extension.name} ({_extension.value}) cannot be used: {error}", err=True)
app.command()(isolation.isolation)


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
