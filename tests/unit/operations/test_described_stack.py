"""A stack as commands read it, whose sections may be in `Pulumi.yaml`, or JSON."""

from __future__ import annotations

import json

import pytest
import yaml

from flux_tenancy.operations.stack.described_cluster import described_cluster
from flux_tenancy.project.described_stack import described_platform, listed_tenants

SECTIONS = {
    "cluster": {"kubeconfig": "kubeconfig"},
    "flux": {"sync": {"path": "./clusters"}},
    "tenants": {"dev-team": {}},
}


@pytest.mark.parametrize("place", ["stack", "project", "json"])
def test_a_section_is_read_wherever_pulumi_reads_it(tmp_path, place):
    values = SECTIONS if place != "json" else {key: json.dumps(value) for key, value in SECTIONS.items()}
    of_stack = {f"flux-tenancy:{key}": value for key, value in values.items()}
    of_project = {key: {"value": value} for key, value in SECTIONS.items()} if place == "project" else {}
    project = {"name": "flux-tenancy", "runtime": "python", "config": of_project}
    (tmp_path / "Pulumi.yaml").write_text(yaml.safe_dump(project))
    (tmp_path / "Pulumi.eu.yaml").write_text(yaml.safe_dump({"config": of_stack if place != "project" else {}}))

    assert described_cluster("eu", tmp_path).kubeconfig == "kubeconfig"
    assert described_platform("eu", tmp_path)["path"] == "./clusters"
    assert list(listed_tenants("eu", tmp_path)) == ["dev-team"]
