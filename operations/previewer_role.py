"""`make previewer-role`: prints who may preview a stack as manifests, for a cluster that has not been set up yet.

Afterwards `pulumi up` applies the same two objects (`components.cluster.component`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import yaml

from components.cluster.component import previewer_access
from components.config.messages import Message
from components.stack.files.names import stack_file_name
from operations.described_cluster import described_previewers
from operations.errors import Operation, OperationError

PROJECT = Path(__file__).parents[1]

app = typer.Typer(add_completion=False)


@app.command(cls=Operation)
def previewer_role(stack: Annotated[str, typer.Option(help="name of the stack, one for each environment")]) -> None:
    """Print the ClusterRole of the stack's previewers and its binding; needs no passphrase and no cluster."""
    if not (access := previewer_access(described_previewers(stack, PROJECT))):
        raise OperationError(
            Message(
                "FT-OPS-053",
                f"{stack_file_name(stack)} has no cluster.previewers",
                "list the users, groups or service accounts (docs/previews.md)",
            )
        )
    typer.echo(yaml.safe_dump_all(access, sort_keys=False), nl=False)


if __name__ == "__main__":
    app(prog_name="python -m operations.previewer_role")
