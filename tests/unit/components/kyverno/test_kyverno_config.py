"""The `kyverno` section: what it takes, and what it refuses with a way out."""

import pytest
from sample_kyverno import KYVERNO
from sample_stack import load, problems

from components.config.config_wordings import NOT_A_SHA256
from components.kyverno.config_wordings import (
    NOT_A_KYVERNO_VERSION,
    ONE_CHART,
    RESOURCES_WITHOUT_REPORTS,
    UNSUPPORTED_KYVERNO_VERSION,
)
from components.stack.config_wordings import OUT_OF_BOUNDS


def test_no_section_is_no_kyverno(tmp_path):
    assert load(tmp_path).kyverno is None


def test_a_kyverno_without_more_is_highly_available_and_makes_no_reports(tmp_path):
    config = load(tmp_path, kyverno=KYVERNO).kyverno

    assert config is not None
    assert (config.version, config.replicas, config.reports) == ("1.19.1", 3, False)


@pytest.mark.parametrize(
    ("keys", "key", "said"),
    [
        ({"version": "1.18.2"}, "kyverno.version", UNSUPPORTED_KYVERNO_VERSION(supported="1.19.x")),
        ({"version": "1.20.0"}, "kyverno.version", UNSUPPORTED_KYVERNO_VERSION(supported="1.19.x")),
        ({"version": "1.19"}, "kyverno.version", NOT_A_KYVERNO_VERSION()),
        ({"sha256": "abc"}, "kyverno.sha256", NOT_A_SHA256()),
        ({"chart": {}}, "kyverno.chart", ONE_CHART()),
        (
            {"chart": {"version": "3.9.1", "bundle": "kyverno.tgz"}},
            "kyverno.chart",
            ONE_CHART(),
        ),
        ({"replicas": 0}, "kyverno.replicas", OUT_OF_BOUNDS(bound="at least 1", given="0")),
        ({"values": {}}, "kyverno.values", ""),
        (
            {"resources": {"reports-controller": {}}},
            "kyverno.resources",
            RESOURCES_WITHOUT_REPORTS(controller="reports-controller"),
        ),
        ({"resources": {"cleanup-controller": {}}}, "kyverno.resources", "admission-controller"),
    ],
)
def test_what_cannot_be_installed_is_refused_where_it_stands(tmp_path, keys, key, said):
    [problem] = problems(tmp_path, kyverno=KYVERNO | keys)

    assert problem.startswith(f"Pulumi.staging.yaml: {key}")
    assert said in problem
