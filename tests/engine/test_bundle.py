"""The composed Flux bundles, compared with known facts about Flux's releases."""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from dev.lab.build import ensure
from dev.lab.settings import Settings
from tests.support.releases import FLUX_VERSION, OLDER_FLUX_VERSION

Manifest = dict[str, Any]

CONTROLLERS = {
    "2.9.6": {
        "helm-controller": "v1.6.4",
        "image-automation-controller": "v1.2.4",
        "image-reflector-controller": "v1.2.4",
        "kustomize-controller": "v1.9.6",
        "notification-controller": "v1.9.3",
        "source-controller": "v1.9.6",
        "source-watcher": "v2.2.3",
    },
    "2.9.5": {
        "helm-controller": "v1.6.4",
        "image-automation-controller": "v1.2.4",
        "image-reflector-controller": "v1.2.4",
        "kustomize-controller": "v1.9.5",
        "notification-controller": "v1.9.3",
        "source-controller": "v1.9.5",
        "source-watcher": "v2.2.3",
    },
}
SUBSTITUTED = {
    "2.9.6": {
        "image-automation-controller": ("v1.2.5", "v1.2.4"),
        "image-reflector-controller": ("v1.2.5", "v1.2.4"),
        "kustomize-controller": ("v1.9.5", "v1.9.6"),
        "notification-controller": ("v1.9.4", "v1.9.3"),
        "source-controller": ("v1.9.5", "v1.9.6"),
        "source-watcher": ("v2.2.4", "v2.2.3"),
    },
    "2.9.5": {
        "image-automation-controller": ("v1.2.5", "v1.2.4"),
        "image-reflector-controller": ("v1.2.5", "v1.2.4"),
        "notification-controller": ("v1.9.4", "v1.9.3"),
        "source-watcher": ("v2.2.4", "v2.2.3"),
    },
}
MANIFESTS = "2.9.5"
"""The release whose manifests both bundles have: those of 2.9.6 are not available."""
SHA256 = {
    "2.9.6": "4404b04a2e8226396678818a65d3bd05ba7bab6bcbf3dc028dbc2056bb1879e8",
    "2.9.5": "4fffa97fc80dd5d5c6eb4635648cf416d7b68bee6154b15a8d0f4275fd2ad285",
}
"""The pins of the modules decide every byte, so all roles, flags and labels of the controllers are held by it."""


@dataclass(frozen=True)
class Bundle:
    """A composed bundle.

    Attributes:
        version: Flux's, without the v.
        file: the install manifest.
    """

    version: str
    file: Path

    @property
    def objects(self) -> list[Manifest]:
        return list(yaml.load_all(self.file.read_text(), yaml.CSafeLoader))

    def of_kind(self, kind: str) -> dict[str, Manifest]:
        return {o["metadata"]["name"]: o for o in self.objects if o["kind"] == kind}


@pytest.fixture(scope="module", params=[FLUX_VERSION, pytest.param(OLDER_FLUX_VERSION, marks=pytest.mark.exhaustive)])
def bundle(request: pytest.FixtureRequest) -> Bundle:
    """Each bundle, composed where the tool cache does not have it."""
    name = f"flux-bundle-{request.param}"
    return Bundle(request.param, ensure(Settings.load(), [name])[name])


def test_the_bundle_has_the_pinned_digest(bundle: Bundle) -> None:
    assert hashlib.sha256(bundle.file.read_bytes()).hexdigest() == SHA256[bundle.version]


@pytest.mark.parametrize("stack", ["staging", "production"])
def test_the_stacks_of_the_project_pin_a_composed_bundle(stack: str) -> None:
    file = Settings.load().project / f"Pulumi.{stack}.yaml"
    flux = yaml.safe_load(file.read_text())["config"]["flux-tenancy:flux"]
    assert flux["sha256"] == SHA256[flux["version"]]


def test_its_header_lists_exactly_the_differences_from_the_release(bundle: Bundle) -> None:
    comments = [line for line in bundle.file.read_text().splitlines() if line.startswith("#")]
    composed_for = (
        f"# Composed for Flux v{bundle.version} from the manifests of Flux v{MANIFESTS}: its own are not available."
    )
    assert comments == [
        *([composed_for] if bundle.version != MANIFESTS else []),
        *(
            f"# Substituted: Flux v{MANIFESTS} has {controller} {released}, this bundle {composed}."
            for controller, (released, composed) in SUBSTITUTED[bundle.version].items()
        ),
    ]


def test_the_definitions_of_the_unit_tests_are_those_of_the_release(bundle: Bundle) -> None:
    """Without descriptions, which say nothing about what is valid."""
    file = Path(__file__).parents[1] / "unit" / "components" / "fixtures" / "definitions.yaml"
    released = bundle.of_kind("CustomResourceDefinition")
    for each in yaml.load_all(file.read_text(), yaml.CSafeLoader):
        assert _specs(each) == _specs(released[each["metadata"]["name"]])


def _specs(definition: Manifest) -> dict[str, Any]:
    versions = definition["spec"]["versions"]
    return {each["name"]: _undescribed(each["schema"]["openAPIV3Schema"]["properties"]["spec"]) for each in versions}


def _undescribed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_undescribed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _undescribed(value)
        for key, value in schema.items()
        if not (key == "description" and isinstance(value, str))
    }


def test_deployments_are_the_pinned_controllers(bundle: Bundle) -> None:
    images = {name: _container(d)["image"] for name, d in bundle.of_kind("Deployment").items()}
    assert images == {name: f"ghcr.io/fluxcd/{name}:{version}" for name, version in CONTROLLERS[bundle.version].items()}


def _container(deployment: Manifest) -> Manifest:
    containers: list[Manifest] = deployment["spec"]["template"]["spec"]["containers"]
    [container] = containers
    return container


class TestComposer:
    """The program itself, over modules made up for the purpose."""

    @pytest.fixture
    def modules(self, tmp_path: Path) -> dict[str, Manifest]:
        """A release of one controller, v1.0.0, and the controller's module of that version, by name."""
        files = {
            "flux2/manifests/install/kustomization.yaml": "resources: [../bases/source-controller]\n",
            "flux2/manifests/bases/source-controller/kustomization.yaml": (
                "resources:\n"
                + "".join(
                    f"- https://github.com/fluxcd/source-controller/releases/download/v1.0.0/source-controller.{kind}.yaml\n"
                    for kind in ("crds", "deployment")
                )
            ),
            "source-controller/config/crd/kustomization.yaml": "resources: [object.yaml]\n",
            "source-controller/config/crd/object.yaml": _config_map("crd"),
            "source-controller/config/manager/kustomization.yaml": "resources: [object.yaml]\n",
            "source-controller/config/manager/object.yaml": _config_map("manager"),
        }
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content)
        paths = {"flux2": ("github.com/fluxcd/flux2/v2", "v2.0.0")}
        paths["source-controller"] = ("github.com/fluxcd/source-controller", "v1.0.0")
        return {
            name: {"Path": path, "Version": version, "Dir": str(tmp_path / name)}
            for name, (path, version) in paths.items()
        }

    def compose(self, bundle: Bundle, folder: Path, modules: dict[str, Manifest], *arguments: str) -> tuple[str, str]:
        """Runs the composer; returns the bundle that it wrote and what it complained of."""
        listing, output = folder / "modules.json", folder / "install.yaml"
        listing.write_text("\n".join(json.dumps(module) for module in modules.values()))
        command: list[str | Path] = [
            bundle.file.parent / f"flux-bundle-{bundle.version}",
            "--modules",
            listing,
            "--output",
            output,
        ]
        result = subprocess.run([*command, *arguments], capture_output=True, text=True)
        return (output.read_text() if result.returncode == 0 else ""), result.stderr

    def test_urls_are_served_from_the_modules(
        self, bundle: Bundle, tmp_path: Path, modules: dict[str, Manifest]
    ) -> None:
        composed, _ = self.compose(bundle, tmp_path, modules)
        assert [o["metadata"]["name"] for o in yaml.safe_load_all(composed)] == ["crd", "manager"]
        assert "#" not in composed

    def test_a_module_that_differs_must_be_declared(
        self, bundle: Bundle, tmp_path: Path, modules: dict[str, Manifest]
    ) -> None:
        modules["source-controller"]["Version"] = "v0.9.0"
        composed, error = self.compose(bundle, tmp_path, modules)
        assert not composed
        assert "the release has source-controller v1.0.0 and go.mod pins v0.9.0" in error

        composed, _ = self.compose(bundle, tmp_path, modules, "--substitute=source-controller")
        assert composed.startswith("# Substituted: Flux v2.0.0 has source-controller v1.0.0, this bundle v0.9.0.\n")

    @pytest.mark.parametrize("declared", ["source-controller", "helm-controller"])
    def test_an_unneeded_declaration_is_refused(
        self, bundle: Bundle, tmp_path: Path, modules: dict[str, Manifest], declared: str
    ) -> None:
        composed, error = self.compose(bundle, tmp_path, modules, f"--substitute={declared}")
        assert not composed
        assert declared in error

    def test_a_controller_without_a_module_is_refused(
        self, bundle: Bundle, tmp_path: Path, modules: dict[str, Manifest]
    ) -> None:
        del modules["source-controller"]
        composed, error = self.compose(bundle, tmp_path, modules)
        assert not composed
        assert "the release has source-controller, which is not among the modules" in error


def _config_map(name: str) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
