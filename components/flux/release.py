"""A Flux release as a pinned input: fetched from where the configuration says and held against its digest."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import requests
import yaml

from components.configuration.errors import Problem
from components.configuration.models import FluxConfig
from components.configuration.yaml_files import FastLoader
from components.flux.controllers import Controller
from components.manifests import Manifest

COMPONENT_LABEL = "app.kubernetes.io/component"
FETCH_TIMEOUT_SECONDS = 30


class ReleaseError(Exception):
    """The release cannot be used; `key` is the key of the `flux` section to look at."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key

    def as_problem(self, stack_file: str) -> Problem:
        return Problem(stack_file, f"flux.{self.key}", str(self))


def read_release(config: FluxConfig, project: Path) -> list[Manifest]:
    """The objects of the release that the chosen components need, in the release's own order.

    Raises:
        ReleaseError: the source cannot be reached or read, the digest does not match, the content is not an install
            manifest, or it lacks a component that the configuration asks for.
    """
    content = _fetch(config, project)
    digest = hashlib.sha256(content).hexdigest()
    if digest != config.sha256:
        raise ReleaseError(
            "sha256",
            f"{_source(config)} has the sha256 {digest}, not {config.sha256}; compare with the release's checksums "
            "and correct flux.sha256 only if you trust what you found",
        )
    _keep(config.sha256, content)
    try:
        manifests = [manifest for manifest in yaml.load_all(content, FastLoader) if manifest]
    except yaml.YAMLError as error:
        raise ReleaseError("manifests", f"{_source(config)} is not YAML: {error}") from None
    if not all(_is_object(manifest) for manifest in manifests):
        raise ReleaseError("manifests", f"{_source(config)} is not an install manifest: not all in it are objects")
    return select_components(manifests, config)


def select_components(manifests: list[Manifest], config: FluxConfig) -> list[Manifest]:
    """Those objects that are shared or belong to a component that the configuration lists."""
    present = {component for manifest in manifests if (component := component_of(manifest))}
    if missing := [str(component) for component in config.components if component not in present]:
        raise ReleaseError(
            "components",
            f"{_source(config)} has no {', '.join(missing)}; it has {', '.join(sorted(present))}",
        )
    wanted = {None, *config.components}
    return [_without_absent_subjects(manifest, config) for manifest in manifests if component_of(manifest) in wanted]


def component_of(manifest: Manifest) -> Controller | None:
    """The controller that an object of the release belongs to, or None for what all of them share."""
    label = manifest["metadata"].get("labels", {}).get(COMPONENT_LABEL)
    return Controller(label) if label in list(Controller) else None


def _is_object(document: Any) -> bool:
    return isinstance(document, dict) and "kind" in document and isinstance(document.get("metadata"), dict)


def _without_absent_subjects(manifest: Manifest, config: FluxConfig) -> Manifest:
    """A binding without the controllers that are not installed: nobody may inherit their rights by taking the name."""
    if manifest["kind"] != "ClusterRoleBinding":
        return manifest
    absent = {controller.value for controller in Controller} - {component.value for component in config.components}
    subjects = [subject for subject in manifest.get("subjects", ()) if subject["name"] not in absent]
    return manifest | {"subjects": subjects}


def _source(config: FluxConfig) -> str:
    return config.manifests.bundle or config.url


def _fetch(config: FluxConfig, project: Path) -> bytes:
    if config.manifests.bundle is not None:
        path = project / Path(config.manifests.bundle).expanduser()
        try:
            return path.read_bytes()
        except OSError as error:
            raise ReleaseError(
                "manifests.bundle", f"{config.manifests.bundle} cannot be read: {error.strerror}"
            ) from None
    kept = _kept(config.sha256)
    if kept is not None:
        return kept
    try:
        response = requests.get(config.url, timeout=FETCH_TIMEOUT_SECONDS)
        response.raise_for_status()
    except requests.RequestException as error:
        status = error.response.status_code if error.response is not None else None
        reason = f"the server answers {status}" if status else "the server cannot be reached"
        raise ReleaseError(
            "manifests",
            f"{config.url} cannot be fetched: {reason}; check flux.version and the network, or name a local file "
            "in flux.manifests.bundle",
        ) from None
    return response.content


def _kept_file(sha256: str) -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root, "flux-tenancy", "releases", f"{sha256}.yaml")


def _kept(sha256: str) -> bytes | None:
    """A release fetched before, so that a preview does not depend on the network; None where it is not what it was."""
    try:
        content = _kept_file(sha256).read_bytes()
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest() == sha256 else None


def _keep(sha256: str, content: bytes) -> None:
    if _kept(sha256) is not None:
        return
    file = _kept_file(sha256)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(f".{os.getpid()}")
        partial.write_bytes(content)
        partial.replace(file)
    except OSError:
        return  # The cache only saves time; a read-only home is no reason to stop.
