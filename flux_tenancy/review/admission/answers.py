"""What an API server would answer to each object of a render, asked all at once."""

from __future__ import annotations

import tarfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.installs.chart import FOLDER
from flux_tenancy.components.policies import native
from flux_tenancy.components.policies.kyverno import KYVERNO_API
from flux_tenancy.components.policies.rendering import PLATFORM_OBJECT, PLATFORM_VARIABLE, POLICIES
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.review.admission.program import Answer, Request, Surroundings, ask
from flux_tenancy.review.render.recorder import GENERATED
from flux_tenancy.review.render.rendered import Render, RenderedObject

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
    yield from native.manifests(name, shared, spec["validationActions"])


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


_RELEASE = "kubernetes:helm.sh/v3:Release"
_TEMPLATE = "{{"


def kyverno_kinds(render: Render, project: Path, kinds: Collection[str]) -> Iterator[Manifest]:
    """The definitions of some kinds, without the metadata that Helm would fill in.

    Args:
        render: the render, which names the chart by its digest.
        project: the project that it was rendered from, which keeps the chart.
        kinds: the kinds that are wanted; parsing all takes seconds.
    """
    for release in render.objects:
        if release.type != _RELEASE or not kinds:
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
