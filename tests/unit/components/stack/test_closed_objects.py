"""Objects of tenants that are there and not open, as a preview tells of them."""

from typing import Any

import pytest
from sample_stack import load

from components.stack.closed_objects import closed_objects
from components.stack.config_wordings import KIND_NOT_OPEN, SOURCE_NOT_LISTED

URL = "https://git.example.com/dev-team/apps"
FROM_GIT: dict[str, Any] = {"chart": {"spec": {"chart": "a", "sourceRef": {"kind": "GitRepository", "name": "a"}}}}
FROM_HELM: dict[str, Any] = {"chart": {"spec": {"chart": "a", "sourceRef": {"kind": "HelmRepository", "name": "a"}}}}


def thing(kind: str, name: str = "a", namespace: str = "apps", **spec: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def told(tmp_path, *objects, **sections):
    config = load(tmp_path, tenants={"dev-team": sections.pop("own", {})}, **sections)
    return list(closed_objects(config, objects))


def test_what_is_not_open_is_told_once_for_each_entry_that_would_open_it(tmp_path):
    chart = thing("HelmChart", sourceRef={"kind": "Bucket", "name": "a"})
    found = told(
        tmp_path,
        thing("Alert"),
        thing("Alert", "b"),
        thing("HelmRelease", **FROM_GIT),
        chart,
        thing("GitRepository", url=URL),
        thing("Kustomization"),
        thing("HelmRelease", "b", **FROM_HELM),
        thing("HelmRelease", "c", chartRef={"kind": "OCIRepository", "name": "a"}),
        thing("Alert", namespace="elsewhere"),
        policies={"sources": {"allowed": ["https://git.example.com/org/*"]}},
        own={"source": {"url": "https://git.example.com/org/apps"}},
    )

    assert found == [
        KIND_NOT_OPEN(tenant="dev-team", objects="Alert apps/a, Alert apps/b", entry="Alert"),
        KIND_NOT_OPEN(tenant="dev-team", objects="HelmRelease apps/a, HelmChart apps/a", entry="HelmChart"),
        SOURCE_NOT_LISTED(tenant="dev-team", objects="GitRepository apps/a", entry=URL),
    ]


@pytest.mark.parametrize(
    "open_",
    [
        {"tenancy": {"kinds": ["Alert", "HelmChart"]}, "policies": {"sources": {"allowed": ["*"]}}},
        {"own": {"policies": {"kinds": ["Alert", "HelmChart"], "sources": ["https://git.example.com/*"]}}},
        {"policies": {"engine": "none"}},
    ],
)
def test_nothing_is_told_of_what_is_open(tmp_path, open_):
    own = open_.get("own", {}) | {"source": {"url": URL}}
    objects = (thing("Alert"), thing("HelmRelease", **FROM_GIT), thing("GitRepository", url=URL))

    assert told(tmp_path, *objects, **{**open_, "own": own}) == []


def test_a_chart_that_helm_controller_made_is_told_with_its_release(tmp_path):
    chart = thing("HelmChart", sourceRef={"kind": "GitRepository", "name": "a"})
    chart["metadata"]["labels"] = {"helm.toolkit.fluxcd.io/name": "a"}

    assert told(tmp_path, chart) == []


def test_a_name_in_a_warning_has_no_control_characters(tmp_path):
    [message] = told(tmp_path, thing("GitRepository", url="https://a\x1b[2J"))

    assert "\x1b" not in message
