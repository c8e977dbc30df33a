"""Holds rendered objects against the schemas of the pinned Kubernetes, Flux and Kyverno, CEL rules included."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from flux_tenancy.components.config.printable import printable
from flux_tenancy.review.admission.answers import Answers
from flux_tenancy.review.render.rendered import Render


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
