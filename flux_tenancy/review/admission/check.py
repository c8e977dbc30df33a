"""Shows what an API server would not accept of a render."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import typer

from flux_tenancy.components.config.errors import coded
from flux_tenancy.components.config.messages import Wording
from flux_tenancy.components.config.printable import printable
from flux_tenancy.review.admission.answers import admission_answers
from flux_tenancy.review.admission.build import COMMAND, PROGRAM
from flux_tenancy.review.admission.program import VARIABLE, find_program
from flux_tenancy.review.admission.schemas import schema_errors
from flux_tenancy.review.admission.verdict import refusals
from flux_tenancy.review.render.rendered import Render

NOT_CHECKED = Wording(
    "FT-REV-301",
    "schemas and policies were not checked: {program} is not on PATH",
    f"build it with `{COMMAND}`, or set {{variable}} to its path",
)
FOUND = Wording("FT-REV-303", "an API server would reject {count} of {total} objects:{listed}")


def check_admission(render: Render, project: Path, meanwhile: Callable[[], None] = lambda: None) -> bool:
    """Print the errors of all objects and what enforced policies refuse, or that there is no program to ask.

    Returns whether an API server would accept all objects, as far as there is a program to ask.

    Args:
        render: the render.
        project: the project that it was rendered from.
        meanwhile: is called while the program answers, before anything is printed.

    Raises:
        OperationError: the program fails.
    """
    program = find_program()
    if program is None:
        meanwhile()
        typer.echo(f"note: {coded(NOT_CHECKED(program=PROGRAM, variable=VARIABLE))}", err=True)
        return True
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(admission_answers, program, render, project)
        meanwhile()
    answers = asked.result()
    denied = [each.statement.text for each in refusals(None, answers, render) if each.denied]
    found = [*map(str, schema_errors(render, answers)), *map(printable, denied)]
    if not found:
        typer.echo(f"{len(answers)} objects match their schemas, and no admission policy refuses any")
        return True
    count = sum(1 for answer in answers.values() if answer.is_refused)
    listed = "".join(f"\n  {line}" for line in found)
    typer.echo(f"error: {coded(FOUND(count=count, total=len(answers), listed=listed))}", err=True)
    return False
