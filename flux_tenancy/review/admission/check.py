"""What an API server would answer to a render: what schemas and this program's policies refuse, newly or as before.

Only content is judged: the platform applies a render, and policies about users let it pass.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import typer
import yaml

from flux_tenancy.components.config.errors import coded
from flux_tenancy.components.config.messages import Wording, printable
from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.installs.product import FOLDER, RELEASE_TYPE
from flux_tenancy.components.policies.rendering import (
    KYVERNO_API,
    PLATFORM_OBJECT,
    PLATFORM_VARIABLE,
    POLICIES,
    native_manifests,
)
from flux_tenancy.components.vocabulary.manifests import Manifest, qualified
from flux_tenancy.review.admission.program import (
    COMMAND,
    PROGRAM,
    VARIABLE,
    Answer,
    Request,
    Surroundings,
    ask,
    find_program,
)
from flux_tenancy.review.render.rendered import GENERATED, Render, RenderedObject
from flux_tenancy.review.words import Statement

Answers = Mapping[tuple[str, str], Answer]
"""The answers by `RenderedObject.key`."""

_NATIVE = tuple(f"{kind}AdmissionPolicy{part}" for kind in ("Mutating", "Validating") for part in ("", "Binding"))
# What the answer to another object depends on.
_DECIDING = frozenset({*_NATIVE, "CustomResourceDefinition", "Namespace", "Release", "ValidatingPolicy"})
# The parts of a specification that both engines have.
_SHARED = ("failurePolicy", "matchConstraints", "matchConditions", "variables", "validations")


def admission_answers(program: Path, render: Render, project: Path, about: Render | None = None) -> Answers:
    """The answers to the platform, as which a stack is applied, if it created every object.

    Args:
        program: the program that answers (`review.admission.find_program`).
        about: the render of before, to ask for what may be answered otherwise than there; None for every object.

    Raises:
        OperationError: the program fails.
    """
    concerned = _concerned(render, about)
    if not concerned:
        return {}
    objects = [each for each in render.objects if each.is_kubernetes]
    surroundings = Surroundings(
        definitions=_definitions(concerned, render, project),
        policies=policies_of(each.manifest for each in objects),
        namespaces=[each.manifest for each in objects if each.kind == "Namespace"],
    )
    answers = ask(program, surroundings, (Request("CREATE", _known(each.manifest)) for each in concerned))
    return {each.key: answer for each, answer in zip(concerned, answers, strict=True)}


def _concerned(render: Render, before: Render | None) -> list[RenderedObject]:
    """The objects that may get another answer than before: all if what decides on them has changed."""
    every = [each for each in render.objects if each.is_kubernetes]
    if before is None:
        return every
    old, new = ({(each.key, each.digest): each for each in of.objects} for of in (before, render))
    differing = [both[one] for both in (old, new) for one in old.keys() ^ new.keys() if one in both]
    if any(each.kind in _DECIDING for each in differing):
        return every
    return [each for each in every if (each.key, each.digest) not in old]


def _definitions(objects: Sequence[RenderedObject], render: Render, project: Path) -> list[Manifest]:
    """Those of the kinds that these objects have."""
    used = {(str(each.manifest["apiVersion"]).partition("/")[0], each.kind) for each in objects}
    kyvernos = {kind for group, kind in used if group.endswith("kyverno.io")}
    rendered = [each.manifest for each in render.objects if each.kind == "CustomResourceDefinition"]
    found = [*rendered, *kyverno_kinds(render, project, kyvernos)]
    return [each for each in found if (each["spec"]["group"], each["spec"].get("names", {}).get("kind")) in used]


def policies_of(manifests: Iterable[Manifest]) -> list[Manifest]:
    """This program's policies as the API server evaluates them; Kyverno's own where it alone enforces.

    Without those that read further objects as their parameters, which only a cluster has.
    """
    objects = list(manifests)
    native_ones = [each for each in objects if each["kind"] in _NATIVE]
    found = [each for each in native_ones if not {"paramKind", "paramRef"} & each["spec"].keys()]
    there = {(each["kind"], each["metadata"]["name"]) for each in found}
    kyvernos = (policy for each in objects for policy in _from_kyverno(each))
    return [*found, *(each for each in kyvernos if (each["kind"], each["metadata"]["name"]) not in there)]


def _from_kyverno(manifest: Manifest) -> Iterator[Manifest]:
    """The same policy for the API server: the expressions are in the common subset of both engines."""
    name = str(manifest["metadata"].get("name"))
    if manifest["apiVersion"] != KYVERNO_API or manifest["kind"] != "ValidatingPolicy" or name not in POLICIES:
        return
    spec = manifest["spec"]
    names = {variable["name"] for variable in spec["variables"]}
    # A policy about users allows the platform everything, and the platform is who applies a render.
    if PLATFORM_VARIABLE in names and PLATFORM_OBJECT not in names:
        return
    variables = [
        each | ({"expression": "true"} if each["name"] == PLATFORM_VARIABLE else {}) for each in spec["variables"]
    ]
    shared = {key: spec[key] for key in _SHARED if key in spec} | {"variables": variables}
    yield from native_manifests(name, shared, spec["validationActions"])


def _known(manifest: Manifest) -> Manifest:
    """The object without what only an update can know."""
    known: Manifest = _without_generated(manifest)
    return known | {"metadata": {"name": "generated"} | known["metadata"]}


def _without_generated(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_generated(child) for key, child in value.items() if child != GENERATED}
    if isinstance(value, list):
        return [_without_generated(child) for child in value if child != GENERATED]
    return value


_TEMPLATE = "{{"


def kyverno_kinds(render: Render, project: Path, kinds: Collection[str]) -> Iterator[Manifest]:
    """The definitions of some kinds, without the metadata that Helm would fill in.

    Args:
        render: the render, which names the chart by its digest.
        project: the project that it was rendered from, which keeps the chart.
        kinds: the kinds that are wanted; parsing all takes seconds.
    """
    for release in render.objects:
        if release.type != RELEASE_TYPE or not kinds:
            continue
        digest = str(release.manifest["properties"]["chart"]).removeprefix("sha256:")
        with tarfile.open(project / FOLDER / f"{digest}.tgz") as archive:
            for member in archive:
                file = archive.extractfile(member) if member.name.endswith(".yaml") else None
                if file is not None and "/templates/" in member.name:
                    yield from _definition(file.read().decode(), kinds)


def _definition(template: str, kinds: Collection[str]) -> Iterator[Manifest]:
    if "\nkind: CustomResourceDefinition\n" not in template:
        return
    if not any(f"\n    kind: {kind}\n" in template for kind in kinds):
        return
    # Only labels, annotations and conditions around the whole are templates, each on lines of its own.
    lines = (line for line in template.splitlines() if _TEMPLATE not in line)
    yield yaml.load("\n".join(lines), FastLoader)


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
