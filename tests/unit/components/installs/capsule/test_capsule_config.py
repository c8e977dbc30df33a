"""The `capsule` section: what it takes, and what it refuses with a way out."""

from typing import Any

import pytest
from sample_capsule import CAPSULE
from sample_stack import load, problems

from tests.support.messages import said

MODE: dict[str, Any] = {"tenancy": {"mode": "capsule"}}


def test_no_section_is_no_capsule(tmp_path):
    assert load(tmp_path).capsule is None


def test_a_capsule_without_more_has_a_second_replica(tmp_path):
    config = load(tmp_path, capsule=CAPSULE, **MODE).capsule

    assert config is not None
    assert (config.version, config.replicas) == ("0.14.0", 2)


@pytest.mark.parametrize(
    ("keys", "key", "said"),
    [
        ({"version": "0.13.2"}, "capsule.version", said("FT-CFG-452", "Capsule", "0.14.x")),
        ({"version": "0.14"}, "capsule.version", said("FT-CFG-006", "a Capsule release", "0.14.0")),
        (
            {"chart": {"url": "https://a.example/c.tgz", "bundle": "c.tgz"}},
            "capsule.chart",
            said("FT-CFG-273", "url and bundle"),
        ),
        ({"replicas": 0}, "capsule.replicas", said("FT-CFG-609", "at least 1", "0")),
        ({"administrators": []}, "capsule.administrators", ""),
        ({"administrators": [{"kind": "Group", "name": "system:masters"}]}, "capsule.administrators[0]", "system:"),
        ({"administrators": [{"kind": "ServiceAccount", "name": "ci"}]}, "capsule.administrators[0]", "namespace"),
        ({"values": {}}, "capsule.values", ""),
    ],
)
def test_what_cannot_be_installed_of_capsule_is_refused_where_it_stands(tmp_path, keys, key, said):
    [problem] = problems(tmp_path, capsule=CAPSULE | keys, **MODE)

    assert problem.startswith(f"Pulumi.staging.yaml: {key}")
    assert said in problem


def test_capsule_and_its_mode_go_together(tmp_path_factory):
    without = problems(tmp_path_factory.mktemp("stack"), **MODE)
    unused = problems(tmp_path_factory.mktemp("stack"), capsule=CAPSULE)

    assert without == [
        f"Pulumi.staging.yaml: tenancy.mode: {said('FT-CFG-670', 'capsule', 'capsule', 'mode to namespaces')}"
    ]
    useless = said("FT-CFG-820", "tenancy.mode is not capsule", "set tenancy.mode to capsule, or remove it")
    assert unused == [f"Pulumi.staging.yaml: capsule: {useless}"]
