"""How the commands for reviewers end."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import typer

from components.config.errors import ConfigurationError
from operations.errors import Operation

PROJECT = Path(__file__).parents[2]


class ReviewCommand(Operation):
    """A command that lists every problem of a stack's files and exits with 2.

    Exit code 1 is for what a command finds, so that a pipeline can tell a finding from an error.

    Python's garbage collector does not run meanwhile. A command soon ends, and the collector would look at everything
    that was imported again and again, for a tenth of the time of a render.
    """

    failure = 2

    def invoke(self, ctx: Any) -> Any:
        collects = gc.isenabled()
        gc.disable()
        try:
            return super().invoke(ctx)
        except ConfigurationError as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(self.failure) from error
        finally:
            if collects:
                gc.enable()
