"""What schemas and this program's own policies refuse of a render, and what of it a change has brought about.

Only content is judged: the platform applies a render, and policies about users let it pass.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import typer

from flux_tenancy.components.config.errors import coded
from flux_tenancy.components.config.messages import Wording, printable
from flux_tenancy.components.policies.rendering import POLICIES
from flux_tenancy.components.vocabulary.manifests import qualified
from flux_tenancy.review.admission.answers import Answers, admission_answers
from flux_tenancy.review.admission.program import COMMAND, PROGRAM, VARIABLE, find_program
from flux_tenancy.review.render.rendered import Render
from flux_tenancy.review.words import Statement

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


@dataclass(frozen=True)
class SchemaError:
    """A field of an object that the API server would not accept, or would drop.

    Attributes:
        owner: the tenant that the object belongs to, or PLATFORM.
        file: the object's file in the render.
        path: the field, e.g. `spec.interval`; empty for the object as a whole.
        message: in the words of Kubernetes.
    """

    owner: str
    file: PurePosixPath
    path: str
    message: str

    def __str__(self) -> str:
        return printable(": ".join(part for part in (str(self.file), self.path, self.message) if part))


def schema_errors(render: Render, answers: Answers) -> tuple[SchemaError, ...]:
    """The errors of all objects, in the order of their files."""
    return tuple(
        SchemaError(each.owner, each.path, error.path, error.message)
        for each in render.objects
        if each.key in answers
        for error in answers[each.key].errors
    )


@dataclass(frozen=True)
class Refusal:
    """An object that a policy refuses, or warns of where its mode is `audit`.

    Attributes:
        owner: the tenant that the object belongs to, or PLATFORM.
        policy: name of the policy, as `policies.modes` has it.
        object: kind, namespace and name, e.g. `GitRepository apps/dev-team`.
        message: the policy's own, with what to do.
        denied: whether the policy is enforced.
        newly: whether it did not say this of the object before the change.
    """

    owner: str
    policy: str
    object: str
    message: str
    denied: bool
    newly: bool

    @property
    def statement(self) -> Statement:
        """The refusal as a sentence of the report."""
        verb = "refuses" if self.denied else "would refuse"
        return Statement(
            self.owner, f"policy {self.policy} {verb} {self.object}: {self.message}", risk=True, names_owner=True
        )


def refusals(before: Answers | None, after: Answers, render: Render) -> tuple[Refusal, ...]:
    """All refusals of a render, in the order of its objects.

    Args:
        before: the answers to the render at the merge base; None for a new stack.
    """
    known = {
        (key, objection.policy, objection.denied)
        for key, answer in (before or {}).items()
        for objection in answer.objections
    }
    return tuple(
        Refusal(
            each.owner,
            str(POLICIES.get(objection.policy, objection.policy)),
            f"{each.kind} {qualified(each.namespace, each.name)}",
            objection.message,
            objection.denied,
            newly=(each.key, objection.policy, objection.denied) not in known,
        )
        for each in render.objects
        if each.key in after
        for objection in after[each.key].objections
    )
