"""Compares what a stack would apply with the render that reviewers have approved, without a cluster or a passphrase.

`review.approval.guard` runs it as a process, before the program registers anything.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pydantic import ValidationError

from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.components.config.messages import Message, Wording, printable
from flux_tenancy.components.stack.files.project import StackName
from flux_tenancy.project.errors import OperationError
from flux_tenancy.review.render.rendered import Digests, differences, is_digest
from flux_tenancy.review.render.stack import render_stack

NO_APPROVAL = Wording(
    "FT-REV-503",
    "the approved digest {reason}",
    "name a digest like sha256:0123…, or the file digest.json that `flux-tenancy review render` writes",
)

SHOWN = 20
"""Objects and facts that a refusal names; the rest is counted."""


class NotApproved(OperationError):
    """A stack would apply something else than what was approved."""


def check_approved(stack: str, approved: str, project: Path) -> str:
    """Compare what a stack would apply with what was approved; returns a sentence that says that both are the same.

    Args:
        approved: `sha256:…`, or the path of a file `digest.json`.

    Raises:
        NotApproved: something else was approved.
        OperationError: `approved` is neither, or of another stack.
        ConfigurationError: the stack cannot be rendered.
    """
    stack = StackName.parse(stack).stack
    digests = read_approved(approved, stack)
    found = Digests.of(render_stack(project, stack))
    if refusal := compare(digests, found):
        raise refusal
    return f"Stack {stack} would apply {found.digest}, as approved."


def read_approved(text: str, stack: str) -> str | Digests:
    """The approved digest, or all digests of the approved render.

    Args:
        text: `sha256:…`, or the path of a file `digest.json`.

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
        raise OperationError(NO_APPROVAL(reason=f"{shown} is of stack {printable(approved.stack)}, not of {stack}"))
    return approved


def compare(approved: str | Digests, found: Digests) -> NotApproved | None:
    """The refusal of what would be applied, or None if it is what was approved.

    Args:
        approved: the approved digest, or all digests of the approved render, which tell what differs.
    """
    digest = approved if isinstance(approved, str) else approved.digest
    if digest == found.digest:
        return None
    lines = [] if isinstance(approved, str) else [printable(line) for line in differences(approved, found)]
    if len(lines) > SHOWN:
        lines[SHOWN:] = [f"and {len(lines) - SHOWN} more"]
    shown = ":" + "".join(f"\n  {line}" for line in lines) if lines else ""
    # A digest alone does not tell what differs.
    step = "review these differences" if lines else "name the approved render's digest.json to see what differs"
    return NotApproved(
        Message(
            "FT-REV-501",
            f"stack {found.stack} would apply {found.digest}, but {digest} was approved{shown}",
            f"nothing was applied; {step}, and approve {found.digest}",
        )
    )


def main(project: str, stack: str, approved: str) -> int:
    """Print the result; returns the exit code: 0 if both are the same, 1 if not, 2 if that is unknown."""
    try:
        print(check_approved(stack, approved, Path(project)))
    except OperationError as error:
        print(error.report, file=sys.stderr)
        return 1 if isinstance(error, NotApproved) else 2
    except ConfigurationError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
