"""The composed releases of Flux, Kyverno and Capsule, compared with known facts about the published ones."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from dev.lab.settings import Settings
from dev.lab.tools_table import modules_folder
from flux_tenancy.components.vocabulary.names import Controller
from tests.support.offline_requests import tool
from tests.support.releases import FLUX_BUNDLE, OLDER_FLUX_VERSION

Manifest = dict[str, Any]

OLDER_BUNDLE = f"flux-bundle-{OLDER_FLUX_VERSION}"
KYVERNO, OLDER_KYVERNO = "kyverno-chart-1.19.1", "kyverno-chart-1.19.0"
CAPSULE = "capsule-chart-0.14.0"
SHA256 = {
    FLUX_BUNDLE: "4404b04a2e8226396678818a65d3bd05ba7bab6bcbf3dc028dbc2056bb1879e8",
    OLDER_BUNDLE: "4fffa97fc80dd5d5c6eb4635648cf416d7b68bee6154b15a8d0f4275fd2ad285",
    KYVERNO: "65daad859d074eaa388af6ad151e22545a6944dff43e1dfe3865af9aa40a6821",
    OLDER_KYVERNO: "8e8cafe4038aba3aea433e1a30ddf3de84f06bc0b0eb9629060756337681943f",
    CAPSULE: "a292d60de980b63e8af8e4d96e5e2fbc5a96c444ac8079f50fc8727a9efc0c0a",
}
"""The pins of the modules decide every byte, and so all roles, flags and labels: another digest without another pin is
a mistake."""
POLICY_KINDS = {"deletingpolicies", "generatingpolicies", "imagevalidatingpolicies", "mutatingpolicies"} | {
    "validatingpolicies"
}


def current_and(older: str, *current: str) -> list[Any]:
    return [*current, pytest.param(older, marks=pytest.mark.exhaustive)]


@pytest.mark.parametrize(
    "name", [*current_and(OLDER_BUNDLE, FLUX_BUNDLE), *current_and(OLDER_KYVERNO, KYVERNO, CAPSULE)]
)
def test_a_composed_release_has_the_pinned_digest(name: str) -> None:
    assert hashlib.sha256(tool(name).read_bytes()).hexdigest() == SHA256[name]


@pytest.mark.parametrize("stack", ["staging", "production"])
@pytest.mark.parametrize(("section", "tools"), [("flux", "flux-bundle"), ("kyverno", "kyverno-chart")])
def test_the_stacks_of_the_project_pin_composed_releases(stack: str, section: str, tools: str) -> None:
    file = Settings.load().project / f"Pulumi.{stack}.yaml"
    pinned = yaml.safe_load(file.read_text())["config"][f"flux-tenancy:{section}"]
    assert pinned["sha256"] == SHA256[f"{tools}-{pinned['version']}"]


def objects(bundle: str, kind: str) -> dict[str, Manifest]:
    """The objects of a kind in a bundle, by name."""
    manifests = yaml.load_all(tool(bundle).read_text(), yaml.CSafeLoader)
    return {each["metadata"]["name"]: each for each in manifests if each["kind"] == kind}


@pytest.mark.parametrize(
    ("bundle", "pins"), [(FLUX_BUNDLE, "flux"), pytest.param(OLDER_BUNDLE, "flux-older", marks=pytest.mark.exhaustive)]
)
def test_a_bundle_runs_the_pinned_controllers_and_says_which_the_release_has_otherwise(bundle: str, pins: str) -> None:
    deployments = objects(bundle, "Deployment")
    containers = {name: each["spec"]["template"]["spec"]["containers"] for name, each in deployments.items()}
    images = {name: container["image"] for name, [container] in containers.items()}
    modules = (modules_folder(Settings.load().project) / pins / "go.mod").read_text()
    pinned = dict(re.findall(r"github\.com/fluxcd/([\w-]+)(?:/v\d+)? (v\S+)", modules))
    comments = [line for line in tool(bundle).read_text().splitlines() if line.startswith("#")]

    assert images == {name: f"ghcr.io/fluxcd/{name}:{pinned[name]}" for name in Controller}
    # The manifests of the newer release are not available.
    composed = "# Composed for Flux v2.9.6 from the manifests of Flux v2.9.5: its own are not available."
    assert comments[0] == composed or bundle == OLDER_BUNDLE
    for line in comments[bundle == FLUX_BUNDLE :]:
        found = re.fullmatch(r"# Substituted: Flux v2\.9\.5 has (\S+) v\S+, this bundle (v\S+)\.", line)
        assert found and images[found[1]].endswith(f":{found[2]}")


def test_the_definitions_of_the_unit_tests_are_those_of_the_release() -> None:
    """Without descriptions, which say nothing about what is valid."""
    file = Path(__file__).parents[1] / "unit" / "components" / "fixtures" / "definitions.yaml"
    released = objects(FLUX_BUNDLE, "CustomResourceDefinition")
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


def content(chart: str) -> dict[str, bytes]:
    """The files in the archive of a chart, by path."""
    with tarfile.open(tool(chart)) as packed:
        return {each.name: found.read() for each in packed if (found := packed.extractfile(each))}


@pytest.mark.parametrize(
    ("name", "chart", "version"),
    [
        (KYVERNO, "3.9.1", "v1.19.1"),
        pytest.param(OLDER_KYVERNO, "3.9.0", "v1.19.0", marks=pytest.mark.exhaustive),
        (CAPSULE, "0.14.0", "0.14.0"),
    ],
)
def test_a_chart_has_its_published_name_and_versions(name: str, chart: str, version: str) -> None:
    product = name.partition("-")[0]
    metadata = yaml.safe_load(content(name)[f"{product}/Chart.yaml"])

    assert (metadata["version"], metadata["appVersion"]) == (chart, version)
    assert tool(name).name == f"{product}-{chart}.tgz"


@pytest.mark.parametrize("name", current_and(OLDER_KYVERNO, KYVERNO))
def test_kyvernos_chart_has_all_policy_types_and_the_dependencies_that_are_on_by_default(name: str) -> None:
    files = content(name)
    metadata, values = (yaml.safe_load(files[f"kyverno/{file}.yaml"]) for file in ("Chart", "values"))
    asked = {each["name"]: each["version"] for each in metadata["dependencies"]}
    folder = "kyverno/charts/kyverno-api/templates/crds/policies.kyverno.io_"
    defined = {each.removeprefix(folder).removesuffix(".yaml") for each in files if each.startswith(folder)}

    assert not [each for each in files if each.startswith("kyverno/ci/") or each.endswith((".gotmpl", ".lock"))]
    assert set(asked) == {"crds", "grafana", "kyverno-api"}
    assert {each: yaml.safe_load(files[f"kyverno/charts/{each}/Chart.yaml"])["version"] for each in asked} == asked
    assert "openreports, reports-server" in metadata["annotations"]["flux-tenancy.dev/composed"]
    assert not values["openreports"]["installCrds"] and not values["reportsServer"]["enabled"]
    assert defined == POLICY_KINDS | {f"namespaced{kind}" for kind in POLICY_KINDS} | {"policyexceptions"}


def test_the_proxy_that_capsules_chart_leaves_out_is_listed_and_off_by_default() -> None:
    files = content(CAPSULE)
    metadata, values = (yaml.safe_load(files[f"capsule/{file}.yaml"]) for file in ("Chart", "values"))

    assert metadata["dependencies"] == []
    assert metadata["annotations"]["flux-tenancy.dev/composed"] == "left out, since off by default: capsule-proxy"
    assert values["proxy"]["enabled"] is False


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

    def compose(self, folder: Path, modules: dict[str, Manifest], *arguments: str) -> tuple[str, str]:
        """Runs the composer; returns the bundle that it wrote and what it complained of."""
        listing, output = folder / "modules.json", folder / "install.yaml"
        listing.write_text("\n".join(json.dumps(module) for module in modules.values()))
        command: list[str | Path] = [
            tool(FLUX_BUNDLE).with_name(FLUX_BUNDLE),
            "--modules",
            listing,
            "--output",
            output,
        ]
        result = subprocess.run([*command, *arguments], capture_output=True, text=True)
        return (output.read_text() if result.returncode == 0 else ""), result.stderr

    def test_urls_are_served_from_the_modules(self, tmp_path: Path, modules: dict[str, Manifest]) -> None:
        composed, _ = self.compose(tmp_path, modules)
        assert [o["metadata"]["name"] for o in yaml.safe_load_all(composed)] == ["crd", "manager"]
        assert "#" not in composed

    def test_a_module_that_differs_must_be_declared(self, tmp_path: Path, modules: dict[str, Manifest]) -> None:
        modules["source-controller"]["Version"] = "v0.9.0"
        composed, error = self.compose(tmp_path, modules)
        assert not composed
        assert "the release has source-controller v1.0.0 and go.mod pins v0.9.0" in error

        composed, _ = self.compose(tmp_path, modules, "--substitute=source-controller")
        assert composed.startswith("# Substituted: Flux v2.0.0 has source-controller v1.0.0, this bundle v0.9.0.\n")

    @pytest.mark.parametrize("declared", ["source-controller", "helm-controller"])
    def test_an_unneeded_declaration_is_refused(
        self, tmp_path: Path, modules: dict[str, Manifest], declared: str
    ) -> None:
        composed, error = self.compose(tmp_path, modules, f"--substitute={declared}")
        assert not composed
        assert declared in error

    def test_a_controller_without_a_module_is_refused(self, tmp_path: Path, modules: dict[str, Manifest]) -> None:
        del modules["source-controller"]
        composed, error = self.compose(tmp_path, modules)
        assert not composed
        assert "the release has source-controller, which is not among the modules" in error


def _config_map(name: str) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
