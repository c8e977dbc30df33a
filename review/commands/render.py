"""`make render`: writes what a stack would apply, one YAML file for each object."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from components.config.messages import Message
from operations.described_stack import described_file
from operations.errors import OperationError
from review.admission.check import check_admission
from review.commands.command import PROJECT, ReviewCommand
from review.render.digests import DIGESTS, Digests
from review.render.rendered import PROTECT, Render, RenderedObject
from review.render.stack import render_stack

app = typer.Typer(add_completion=False)


class _Dumper(yaml.CSafeDumper):
    """Writes text of several lines as a block, which shows changes line by line."""


def _text(dumper: _Dumper, value: str) -> yaml.Node:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


@app.command(cls=ReviewCommand)
def render(
    stack: Annotated[str, typer.Option(help="name of the stack")],
    out: Annotated[Path, typer.Option(help="folder to write to; the stack gets a folder in it")],
) -> None:
    """Write what a stack would apply, without a cluster or a passphrase."""
    described_file(stack, PROJECT)  # An unknown stack is refused with the names of those that exist.
    rendered = render_stack(PROJECT, stack)

    def write() -> None:
        folder = write_render(rendered, out)
        typer.echo(f"{len(rendered.objects)} objects in {folder}")
        typer.echo(f"Digest: {rendered.digest}")

    check_admission(rendered, PROJECT, meanwhile=write)


def write_render(rendered: Render, out: Path) -> Path:
    """Write a render; returns its folder, which holds nothing else afterwards.

    Args:
        rendered: the render.
        out: the folder of all renders.

    Raises:
        OperationError: the stack's folder has other files than an earlier render's.
    """
    folder = out / rendered.stack
    if folder.exists():
        _delete_render(folder)
    for each in rendered.objects:
        file = folder / each.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(as_file(each), encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / DIGESTS).write_text(Digests.of(rendered).as_json(), encoding="utf-8")
    return folder


def _delete_render(folder: Path) -> None:
    """Delete the files of an earlier render, or an empty folder.

    Raises:
        OperationError: the folder has other files, or is a link; nothing is deleted.
    """
    try:
        earlier = Digests.model_validate_json((folder / DIGESTS).read_text(encoding="utf-8"))
        written = {DIGESTS, *earlier.objects}
    except (OSError, ValueError):
        written = set()
    found = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_symlink() or not file.is_dir()}
    if folder.is_symlink() or not folder.is_dir() or not found <= written:
        raise OperationError(
            Message(
                "FT-REV-001",
                f"{folder} has files that `make render` has not written",
                "name an empty folder, or one of an earlier render, with OUT=…",
            )
        )
    shutil.rmtree(folder)


def as_file(rendered: RenderedObject) -> str:
    """The content of an object's file; what only Pulumi knows is in a comment."""
    return (f"# {PROTECT}: true\n" if rendered.protected else "") + as_yaml(rendered.manifest)


def as_yaml(manifest: Any) -> str:
    """A manifest as YAML, in the order of its keys."""
    return yaml.dump(manifest, Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)


if __name__ == "__main__":
    app(prog_name="python -m review.commands.render")
