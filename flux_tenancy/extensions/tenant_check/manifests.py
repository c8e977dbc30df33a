"""The objects that a tenant's repository applies: rendered by flate, or as they are in YAML files."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from flux_tenancy.components.config.errors import reason_of
from flux_tenancy.components.config.messages import Wording, printable
from flux_tenancy.components.config.yaml_files import GoLoader
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import HELM_RELEASE, KUSTOMIZATION
from flux_tenancy.project.errors import OperationError

FLATE = "flate"
"""The program that renders what Flux would apply; its users install it: https://github.com/home-operations/flate"""
# Without them it leaves out Secrets and definitions, which are judged, too.
_FLAGS = ("--skip-secrets=false", "--skip-crds=false", "--no-progress", "--log-level=error")
_TIMEOUT_SECONDS = 300
# What Flux renders of these kinds.
_RENDERING = {HELM_RELEASE: "the chart", KUSTOMIZATION: "the folder, with patches and substitutions,"}

_UNREADABLE = Wording("FT-REV-323", "{file} cannot be read: {reason}", "correct it, or name another path")
_NOT_RENDERED = Wording(
    "FT-REV-324", "flate could not render {folder}: {reason}", "correct it, or check what you have rendered otherwise"
)


@dataclass(frozen=True)
class Found:
    """An object of a repository.

    Attributes:
        manifest: the object.
        file: its file, relative to the checked folder; empty for what was rendered.
        line: the line in which it begins.
    """

    manifest: Manifest
    file: str = ""
    line: int = 1


@dataclass(frozen=True)
class Repository:
    """What a repository has.

    Attributes:
        objects: its objects.
        unrendered: files that only make objects once they are rendered, each with the reason.
    """

    objects: list[Found]
    unrendered: list[str]


def read_repository(path: Path, syncs: Sequence[Manifest], *, render: bool = True) -> Repository:
    """The objects of a folder or a file; those that flate renders if it is on PATH.

    Args:
        path: a folder or a file.
        syncs: the tenant's Kustomizations in the stack. Those with the source of the first are about this repository.
        render: whether to render a folder.

    Raises:
        OperationError: a file cannot be read, or flate fails.
    """
    flate = shutil.which(FLATE) if render and path.is_dir() else None
    return _rendered(flate, path, syncs) if flate else read_objects(path)


def read_objects(path: Path) -> Repository:
    """The objects in YAML files, as they are.

    Raises:
        OperationError: a file cannot be read.
    """
    files = [path]
    objects: list[Found] = []
    unrendered: list[str] = []
    if path.is_dir():
        charts = [each.parent for each in sorted(path.rglob("Chart.yaml")) if _is_manifest(each.relative_to(path))]
        unrendered += [f"{each.relative_to(path)}: a chart" for each in charts]
        found = (each for each in sorted(path.rglob("*")) if _is_manifest(each.relative_to(path)) and each.is_file())
        files = [each for each in found if not any(chart in each.parents for chart in charts)]
    for file in files:
        shown = str(file.relative_to(path) if path.is_dir() else file)
        for line, document in _documents(file):
            api = str(document.get("apiVersion", "")) if isinstance(document, dict) else ""
            if api.startswith("kustomize.config.k8s.io/") or (file.stem == "kustomization" and not api):
                unrendered.append(f"{shown}: Kustomize's patches and generators")
                continue
            if not api or "kind" not in document:
                continue
            if document["kind"] in _RENDERING:
                unrendered.append(f"{shown}: {_RENDERING[document['kind']]} of {_name(document)}")
            objects += [Found(each, shown, line) for each in _listed(document)]
    return Repository(objects, unrendered)


def _is_manifest(path: Path) -> bool:
    return path.suffix in (".yaml", ".yml") and not any(part.startswith(".") for part in path.parts)


def _name(document: Manifest) -> str:
    metadata = document.get("metadata")
    return f"{document['kind']} {metadata.get('name') if isinstance(metadata, dict) else ''}"


def _documents(file: Path) -> Iterator[tuple[int, Any]]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else "it is not UTF-8"
        raise OperationError(_UNREADABLE(file=file, reason=reason)) from None
    yield from _parsed(text, str(file))


def _parsed(text: str, shown: str) -> Iterator[tuple[int, Any]]:
    loader = GoLoader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            yield node.start_mark.line + 1, loader.construct_document(node)
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}: " if mark else ""
        reason = f"{place}{getattr(error, 'problem', None) or error}"
        raise OperationError(_UNREADABLE(file=shown, reason=reason)) from None
    finally:
        loader.dispose()


def _listed(document: Manifest) -> Iterator[Manifest]:
    if str(document["kind"]).endswith("List") and isinstance(document.get("items"), list):
        yield from (each for item in document["items"] for each in _listed(item))
    else:
        yield document


def _rendered(flate: str, path: Path, syncs: Sequence[Manifest]) -> Repository:
    """What flate renders of a copy that has the platform's objects beside."""
    with tempfile.TemporaryDirectory() as made:
        copy = Path(made) / "repository"
        shutil.copytree(path, copy, ignore=shutil.ignore_patterns(".git"), symlinks=True)
        beside = copy / "flux-tenancy-platform"
        beside.mkdir(exist_ok=True)
        # Without their source: flate takes the repository for it.
        own = [each for each in syncs if each["spec"]["sourceRef"] == syncs[0]["spec"]["sourceRef"]]
        (beside / "syncs.yaml").write_text(yaml.safe_dump_all(own), encoding="utf-8")
        try:
            done = subprocess.run(
                [flate, "build", "all", "--path", str(copy), *_FLAGS],
                capture_output=True,
                encoding="utf-8",
                timeout=_TIMEOUT_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise OperationError(_NOT_RENDERED(folder=path, reason=error)) from None
    if done.returncode != 0:
        reason = printable(" ".join(done.stderr.replace(made, "").split()) or f"exit status {done.returncode}")
        raise OperationError(_NOT_RENDERED(folder=path, reason=reason))
    documents = [document for _, document in _parsed(done.stdout, FLATE) if isinstance(document, dict)]
    return Repository([Found(each) for document in documents for each in _listed(document)], [])
