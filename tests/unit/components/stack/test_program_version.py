"""An older program does not change a stack that a newer one has applied."""

from __future__ import annotations

import re

import pytest
from sample_stack import load

from flux_tenancy.components.cluster.component import CLUSTER_TYPE
from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.stack.cluster.deletions import version_problems
from flux_tenancy.components.stack.cluster.preflight import preflight
from flux_tenancy.components.stack.files.stack_file import StackFile
from flux_tenancy.version import VERSION

FILE = "Pulumi.staging.yaml"


def applied_by(version: str | None) -> State:
    return State({(CLUSTER_TYPE, "cluster"): {"program": version} if version else {}})


@pytest.mark.parametrize(
    ("applied", "this", "refused"),
    [
        (None, "0.1.0", False),
        ("0.1.0", "0.1.0", False),
        ("0.1.9", "0.1.0", False),
        ("0.9.0", "0.10.0", False),
        ("0.10.0", "0.9.3", True),
        ("1.0.0", "0.9.3", True),
        ("next", "0.9.3", True),
        ("0.9rc1", "0.9.3", True),
    ],
)
def test_a_stack_of_a_newer_minor_version_is_refused(applied, this, refused):
    found = version_problems(applied_by(applied), FILE, this)

    assert [each.code for each in found] == ["FT-CFG-850"] * refused
    assert all(applied in each.message and this in each.message for each in found)


def test_the_preflight_refuses_it(tmp_path):
    config = load(tmp_path, tenants={"dev-team": {}})

    with pytest.raises(ConfigurationError) as error:
        preflight(config, applied_by("99.0.0"), StackFile(FILE, {}), tmp_path)

    assert "FT-CFG-850" in {each.code for each in error.value.problems}


def test_the_version_is_one_that_can_be_compared():
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)
