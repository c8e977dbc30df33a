"""The composed archives of Kyverno's chart, compared with known facts about the published ones."""

from __future__ import annotations

import hashlib
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from dev.lab.build import ensure
from dev.lab.settings import Settings

CHARTS = {"1.19.1": "3.9.1", "1.19.0": "3.9.0"}
SHA256 = {
    "1.19.1": "65daad859d074eaa388af6ad151e22545a6944dff43e1dfe3865af9aa40a6821",
    "1.19.0": "8e8cafe4038aba3aea433e1a30ddf3de84f06bc0b0eb9629060756337681943f",
}
"""The pins of the modules decide every byte: another digest without another pin is a mistake."""

POLICY_KINDS = {"deletingpolicies", "generatingpolicies", "imagevalidatingpolicies", "mutatingpolicies"} | {
    "validatingpolicies"
}


@dataclass(frozen=True)
class Archive:
    """A composed archive.

    Attributes:
        version: Kyverno's, without the v.
        file: the archive.
        files: what is in it, by path.
    """

    version: str
    file: Path
    files: dict[str, bytes]

    def metadata(self, chart: str = "kyverno") -> dict[str, Any]:
        metadata: dict[str, Any] = yaml.safe_load(self.files[f"{chart}/Chart.yaml"])
        return metadata


@pytest.fixture(scope="module", params=["1.19.1", pytest.param("1.19.0", marks=pytest.mark.exhaustive)])
def archive(request: pytest.FixtureRequest) -> Archive:
    """Each archive, composed where the tool cache does not have it."""
    name = f"kyverno-chart-{request.param}"
    file = ensure(Settings.load(), [name])[name]
    with tarfile.open(file) as packed:
        files = {}
        for member in packed:
            content = packed.extractfile(member)
            assert content is not None, f"{member.name} is no file"
            files[member.name] = content.read()
    return Archive(request.param, file, files)


def test_the_archive_is_always_the_same(archive: Archive) -> None:
    assert hashlib.sha256(archive.file.read_bytes()).hexdigest() == SHA256[archive.version]


@pytest.mark.parametrize("stack", ["staging", "production"])
def test_the_stacks_of_the_project_pin_a_composed_archive(stack: str) -> None:
    file = Settings.load().project / f"Pulumi.{stack}.yaml"
    kyverno = yaml.safe_load(file.read_text())["config"]["flux-tenancy:kyverno"]
    assert kyverno["sha256"] == SHA256[kyverno["version"]]


def test_it_is_kyvernos_chart_under_its_published_name(archive: Archive) -> None:
    metadata = archive.metadata()

    assert (metadata["version"], metadata["appVersion"]) == (CHARTS[archive.version], f"v{archive.version}")
    assert archive.file.name == f"kyverno-{CHARTS[archive.version]}.tgz"
    assert not [name for name in archive.files if name.startswith("kyverno/ci/") or name.endswith((".gotmpl", ".lock"))]


def test_it_contains_all_dependencies_in_the_required_versions(archive: Archive) -> None:
    asked = {each["name"]: each["version"] for each in archive.metadata()["dependencies"]}

    assert set(asked) == {"crds", "grafana", "kyverno-api"}
    assert {name: archive.metadata(f"kyverno/charts/{name}")["version"] for name in asked} == asked


def test_omitted_dependencies_are_listed_and_off_by_default(archive: Archive) -> None:
    values = yaml.safe_load(archive.files["kyverno/values.yaml"])

    assert "openreports, reports-server" in archive.metadata()["annotations"]["flux-tenancy.dev/composed"]
    assert not values["openreports"]["installCrds"]
    assert not values["reportsServer"]["enabled"]


def test_all_policy_types_are_defined(archive: Archive) -> None:
    folder = "kyverno/charts/kyverno-api/templates/crds/policies.kyverno.io_"
    defined = {name.removeprefix(folder).removesuffix(".yaml") for name in archive.files if name.startswith(folder)}

    assert defined == POLICY_KINDS | {f"namespaced{kind}" for kind in POLICY_KINDS} | {"policyexceptions"}
