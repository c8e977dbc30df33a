"""`flux-tenancy`: all groups of commands.

Source of the options' names: `pulumi`, `flux` and `kubectl`
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from command import drift, isolation, releases
from command.exits import MEANINGS
from command.program import Group, Program

NAME = "flux-tenancy"

app = typer.Typer(
    name=NAME,
    cls=Program,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog="Exit codes: " + "; ".join(f"{code.value}: {meaning}" for code, meaning in MEANINGS.items()) + ".",
)
for _name, _group in {"drift": drift.app, "releases": releases.app}.items():
    app.add_typer(_group, name=_name, cls=Group)
app.command()(isolation.isolation)


@app.callback()
def _root(
    cwd: Annotated[
        Path | None,
        typer.Option(
            "--cwd",
            "-C",
            envvar="PULUMI_OPTION_CWD",
            exists=True,
            file_okay=False,
            show_default=False,
            help="Run as if started in this folder, as `pulumi --cwd`.",
        ),
    ] = None,
) -> None:
    """Operate the tenants of a Flux platform: files, keys, reviews, drift and isolation."""
    if cwd is not None:
        os.chdir(cwd)


def main() -> None:
    """Run the program, and end the process."""
    app(prog_name=NAME)
