"""The `kyverno` section: what it takes, and what it refuses with a way out."""

import pytest
from sample_kyverno import KYVERNO
from sample_stack import load, problems

from tests.support.messages import said


def test_no_section_is_no_kyverno(tmp_path):
    assert load(tmp_path).kyverno is None


def test_a_kyverno_without_more_is_highly_available_and_makes_no_reports(tmp_path):
    config = load(tmp_path, kyverno=KYVERNO).kyverno

    assert config is not None
    assert (config.version, config.replicas, config.reports) == ("1.19.1", 3, False)


@pytest.mark.parametrize(
    ("keys", "key", "said"),
    [
        ({"version": "1.18.2"}, "kyverno.version", said("FT-CFG-452", "Kyverno", "1.19.x")),
        ({"version": "1.20.0"}, "kyverno.version", said("FT-CFG-452", "Kyverno", "1.19.x")),
        ({"version": "1.19"}, "kyverno.version", said("FT-CFG-006", "a Kyverno release", "1.19.1")),
        (
            {"sha256": "abc"},
            "kyverno.sha256",
            said("FT-CFG-006", "a SHA-256 digest", "9f86d08…, with 64 lowercase hexadecimal digits"),
        ),
        ({"chart": {}}, "kyverno.chart", said("FT-CFG-181", "version, url and bundle")),
        (
            {"chart": {"version": "3.9.1", "bundle": "kyverno.tgz"}},
            "kyverno.chart",
            said("FT-CFG-181", "version, url and bundle"),
        ),
        ({"replicas": 0}, "kyverno.replicas", said("FT-CFG-609", "at least 1", "0")),
        ({"values": {}}, "kyverno.values", ""),
        (
            {"resources": {"reports-controller": {}}},
            "kyverno.resources",
            said(
                "FT-CFG-820",
                "reports-controller is installed only with reports",
                "set reports to true, or remove its resources",
            ),
        ),
        ({"resources": {"cleanup-controller": {}}}, "kyverno.resources", "admission-controller"),
    ],
)
def test_what_cannot_be_installed_is_refused_where_it_stands(tmp_path, keys, key, said):
    [problem] = problems(tmp_path, kyverno=KYVERNO | keys)

    assert problem.startswith(f"Pulumi.staging.yaml: {key}")
    assert said in problem
