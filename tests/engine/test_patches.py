"""Patches as data do in kustomize what they say, in the form in which Flux takes them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from flux_tenancy.components.sync.kustomization import Reconciliation, patches
from tests.support.lab import KUBECTL

SETTINGS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings"},
    "data": {"color": "blue", "old": "a"},
}
CONTAINER = {"name": "app", "image": "app"}
WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {"template": {"spec": {"containers": [CONTAINER]}}},
}


def patched(folder: Path, patch: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The objects after the patch, by name."""
    (folder / "all.yaml").write_text(yaml.safe_dump_all([SETTINGS, WEB]))
    made = patches(Reconciliation.model_validate({"patches": [patch]}).patches)
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({"resources": ["all.yaml"], "patches": made}))
    done = subprocess.run([str(KUBECTL), "kustomize", str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {each["metadata"]["name"]: each for each in yaml.safe_load_all(done.stdout)}


def test_a_merge_patch_sets_and_removes_fields_and_keeps_name_and_kind(tmp_path: Path) -> None:
    patch = {"target": {"kind": "ConfigMap"}, "merge": {"data": {"color": "red", "old": None}}}

    assert patched(tmp_path, patch) == {"settings": SETTINGS | {"data": {"color": "red"}}, "web": WEB}


def test_a_merge_patch_merges_lists_by_the_schema_of_its_target(tmp_path: Path) -> None:
    variable = {"name": "A", "value": "b"}
    containers = [{"name": "app", "env": [variable]}]
    patch = {"target": {"kind": "Deployment"}, "merge": {"spec": {"template": {"spec": {"containers": containers}}}}}

    found = patched(tmp_path, patch)["web"]["spec"]["template"]["spec"]["containers"]

    assert found == [CONTAINER | {"env": [variable]}]


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "/data/color", "value": "red"},
        {"op": "copy", "path": "/data/color", "from": "/data/old"},
        {"op": "remove", "path": "/data/color"},
    ],
    ids=lambda operation: operation["op"],
)
def test_operations_change_what_they_point_to(tmp_path: Path, operation: dict[str, Any]) -> None:
    expected = {"replace": {"color": "red", "old": "a"}, "copy": {"color": "a", "old": "a"}, "remove": {"old": "a"}}

    found = patched(tmp_path, {"target": {"name": "settings"}, "operations": [operation]})

    assert found["settings"]["data"] == expected[operation["op"]]
