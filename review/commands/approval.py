"""`python -m review.commands.approval`: compares what a stack would apply with the render that reviewers have approved.

Needs no cluster, credentials or passphrase. The program runs it before it registers anything
(`components.stack.approval`). A pipeline can run it before it has credentials.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from components.config.messages import Message, Wording
from components.config.printable import printable
from operations.errors import OperationError
from review.commands.command import PROJECT, ReviewCommand
from review.render.digests import Digests, differences, is_digest
from review.render.stack import render_stack

NO_APPROVAL = Wording(
    "FT-REV-503",
    "APPROVED {reason}",
    "set it to a digest like sha256:0123…, or to the file digest.json that `make render` writes",
)

SHOWN = 20
"""Objects that a refusal names; the rest is counted."""

app = typer.Typer(add_completion=False)


@app.command(cls=ReviewCommand)
def approval(
    stack: Annotated[str, typer.Option(help="name of the stack, one for each environment")],
    digest: Annotated[str, typer.Option(help="what was approved: sha256:…, or the path of a digest.json")],
) -> None:
    """Exit with 0 if the stack would apply exactly what was approved, with 1 if not, with 2 if that is unknown."""
    approved = read_approved(digest, stack)
    found = Digests.of(render_stack(PROJECT, stack))
    if refusal := compare(approved, found):
        typer.echo(refusal.report, err=True)
        raise typer.Exit(1)
    typer.echo(f"Stack {stack} would apply {found.digest}, as approved.")


def read_approved(text: str, stack: str) -> str | Digests:
    """The approved digest, or all digests of the approved render.

    Args:
        text: `sha256:…`, or the path of a file `digest.json`.
        stack: name of the stack.

    Raises:
        OperationError: it is neither, or about another stack.
    """
    if is_digest(text):
        return text
    if not text:
        raise OperationError(NO_APPROVAL(reason="is empty"))
    shown = printable(text)
    if text.startswith("sha256:"):
        raise OperationError(NO_APPROVAL(reason=f"{shown} is not sha256: with 64 hexadecimal digits"))
    try:
        approved = Digests.model_validate_json(Path(text).read_bytes())
    except OSError as error:
        raise OperationError(NO_APPROVAL(reason=f"{shown} cannot be read: {error.strerror}")) from None
    except ValidationError:
        raise OperationError(NO_APPROVAL(reason=f"{shown} is not the digest.json of a render")) from None
    if approved.stack != stack:
        found = printable(approved.stack)
        raise OperationError(
            Message(
                "FT-REV-504",
                f"{shown} is the render of stack {found}, not of {stack}",
                f"approve the render of {stack}",
            )
        )
    return approved


def compare(approved: str | Digests, found: Digests) -> OperationError | None:
    """The refusal of what would be applied, or None if it is what was approved.

    Args:
        approved: the approved digest, or all digests of the approved render, which tell what differs.
        found: the digests of what would be applied.
    """
    digest = approved if isinstance(approved, str) else approved.digest
    if digest == found.digest:
        return None
    fields = {"stack": found.stack, "digest": found.digest, "approved": digest}
    lines = [] if isinstance(approved, str) else [printable(line) for line in differences(approved, found)]
    if not lines:
        return OperationError(
            Wording(
                "FT-REV-501",
                "stack {stack} would apply {digest}, but {approved} was approved",
                "nothing was applied; to see what differs, name the digest.json of the approved render in "
                "place of its digest",
            )(**fields)
        )
    if len(lines) > SHOWN:
        lines[SHOWN:] = [f"and {len(lines) - SHOWN} more"]
    return OperationError(
        Wording(
            "FT-REV-502",
            "stack {stack} would apply {digest}, but {approved} was approved:{differences}",
            "nothing was applied; review these objects, and approve {digest}",
        )(differences="".join(f"\n  {line}" for line in lines), **fields)
    )


if __name__ == "__main__":
    app(prog_name="python -m review.commands.approval")
