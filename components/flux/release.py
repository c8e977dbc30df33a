"""A Flux release as a pinned input: fetched from the configured URL or bundle and verified by its digest."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from components.config.messages import Message, Wording
from components.config.pinned_input import PinnedInput, read_pinned
from components.config.printable import printable
from components.config.yaml_files import FastLoader
from components.flux.config import FluxConfig
from components.flux.controllers import Controller
from components.flux.release_labels import labelled
from components.vocabulary.manifests import Manifest

COMPONENT_LABEL = "app.kubernetes.io/component"


def _pinned(config: FluxConfig) -> PinnedInput:
    return PinnedInput("flux", "manifests", config.url, config.manifests.bundle, config.sha256, ".yaml")


def read_release(config: FluxConfig, project: Path) -> list[Manifest]:
    """The objects of the release that the chosen components need, in the release's own order.

    Raises:
        PinnedInputError: the source cannot be reached or read, the digest does not match, the content is not an install
            manifest, or it lacks a component that the configuration lists.
    """
    pinned = _pinned(config)
    content = read_pinned(pinned, project)
    try:
        manifests = [manifest for manifest in yaml.load_all(content, FastLoader) if manifest]
    except yaml.YAMLError as error:
        raise pinned.error(
            "manifests", Message("FT-FLX-001", f"{pinned.source} is not valid YAML: {printable(str(error))}")
        ) from None
    if not all(_is_object(manifest) for manifest in manifests):
        raise pinned.error(
            "manifests",
            Message(
                "FT-FLX-002",
                f"{pinned.source} is not an install manifest: it holds documents that are not Kubernetes objects",
                "use the release's install.yaml",
            ),
        )
    return select_components(manifests, config)


def select_components(manifests: list[Manifest], config: FluxConfig) -> list[Manifest]:
    """The objects that are shared or belong to a listed component, labeled as part of Flux."""
    present = {component for manifest in manifests if (component := component_of(manifest))}
    if missing := [str(component) for component in config.components if component not in present]:
        pinned = _pinned(config)
        lists = {"missing": ", ".join(missing), "present": ", ".join(sorted(present))}
        raise pinned.error(
            "components",
            Wording("FT-FLX-003", "{source} has no {missing}; it has {present}", "remove the components that it lacks")(
                source=pinned.source, **lists
            ),
        )
    wanted = {None, *config.components}
    return [
        labelled(_without_absent_subjects(manifest, config), config.version)
        for manifest in manifests
        if component_of(manifest) in wanted
    ]


def component_of(manifest: Manifest) -> Controller | None:
    """The controller that an object of the release belongs to, or None if all controllers share it."""
    label = manifest["metadata"].get("labels", {}).get(COMPONENT_LABEL)
    return Controller(label) if label in list(Controller) else None


def controller_images(manifests: Iterable[Manifest]) -> list[str]:
    """The container images of a release, as its Deployments name them."""
    return [
        container["image"]
        for manifest in manifests
        if manifest["kind"] == "Deployment"
        for container in manifest["spec"]["template"]["spec"]["containers"]
    ]


def _is_object(document: Any) -> bool:
    return isinstance(document, dict) and "kind" in document and isinstance(document.get("metadata"), dict)


def _without_absent_subjects(manifest: Manifest, config: FluxConfig) -> Manifest:
    """A binding without the accounts of controllers that are not installed, so creating one gives no rights."""
    if manifest["kind"] != "ClusterRoleBinding":
        return manifest
    absent = {controller.value for controller in Controller} - {component.value for component in config.components}
    subjects = [subject for subject in manifest.get("subjects", ()) if subject["name"] not in absent]
    return manifest | {"subjects": subjects}
