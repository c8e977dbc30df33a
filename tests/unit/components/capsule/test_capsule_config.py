"""The `capsule` section: what it takes, and what it refuses with a way out."""

from typing import Any

import pytest
from sample_capsule import CAPSULE
from sample_stack import load, problems

from components.capsule.config_wordings import NOT_A_CAPSULE_VERSION, TWO_CHARTS, UNSUPPORTED_CAPSULE_VERSION
from components.stack.config_wordings import CAPSULE_NOT_INSTALLED, CAPSULE_NOT_USED, OUT_OF_BOUNDS

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
        ({"version": "0.13.2"}, "capsule.version", UNSUPPORTED_CAPSULE_VERSION(supported="0.14.x")),
        ({"version": "0.14"}, "capsule.version", NOT_A_CAPSULE_VERSION()),
        ({"chart": {"url": "https://a.example/c.tgz", "bundle": "c.tgz"}}, "capsule.chart", TWO_CHARTS()),
        ({"replicas": 0}, "capsule.replicas", OUT_OF_BOUNDS(bound="at least 1", given="0")),
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

    assert without == [f"Pulumi.staging.yaml: tenancy.mode: {CAPSULE_NOT_INSTALLED()}"]
    assert unused == [f"Pulumi.staging.yaml: capsule: {CAPSULE_NOT_USED(mode='namespaces')}"]
