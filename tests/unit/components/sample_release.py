"""The release in miniature of `fixtures/release.yaml`, and the ways to look into it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.vocabulary.manifests import Manifest
from tests.support.goldens import GOLDEN

HERE = Path(__file__).parent
RELEASE_FILE = HERE / "fixtures" / "release.yaml"


def release() -> list[Manifest]:
    return list(yaml.load_all(RELEASE_FILE.read_text(), FastLoader))


def golden(name: str) -> Any:
    """The expectation in `tests/golden/<name>.yaml`."""
    return yaml.safe_load((GOLDEN / f"{name}.yaml").read_text())


def one(manifests: Iterable[Manifest], kind: str, name: str) -> Manifest:
    [found] = [each for each in manifests if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found


def names(manifests: Iterable[Manifest], kind: str) -> list[str]:
    return [manifest["metadata"]["name"] for manifest in manifests if manifest["kind"] == kind]


def arguments(manifests: Iterable[Manifest]) -> dict[str, list[str] | None]:
    """The arguments of each Deployment; None where it states none."""
    return {
        manifest["metadata"]["name"]: manifest["spec"]["template"]["spec"]["containers"][0].get("args")
        for manifest in manifests
        if manifest["kind"] == "Deployment"
    }
