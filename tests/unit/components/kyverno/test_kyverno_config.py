"""The `kyverno` section: what it takes, and what it refuses with a way out."""

import pytest
from sample_kyverno import KYVERNO
from sample_stack import load, problems


def test_no_section_is_no_kyverno(tmp_path):
    assert load(tmp_path).kyverno is None


def test_a_kyverno_without_more_is_highly_available_and_makes_no_reports(tmp_path):
    config = load(tmp_path, kyverno=KYVERNO).kyverno

    assert config is not None
    assert (config.version, config.replicas, config.reports) == ("1.19.1", 3, False)


@pytest.mark.parametrize(
    ("keys", "key", "said"),
    [
        ({"version": "1.18.2"}, "kyverno.version", "does not know; it knows 1.19.x"),
        ({"version": "1.20.0"}, "kyverno.version", "does not know; it knows 1.19.x"),
        ({"version": "1.19"}, "kyverno.version", "write it like 1.19.1"),
        ({"sha256": "abc"}, "kyverno.sha256", "64 hexadecimal digits"),
        ({"chart": {}}, "kyverno.chart", "give exactly one of version, url and bundle"),
        (
            {"chart": {"version": "3.9.1", "bundle": "kyverno.tgz"}},
            "kyverno.chart",
            "give exactly one of version, url and bundle",
        ),
        ({"replicas": 0}, "kyverno.replicas", "must be at least 1, got 0"),
        ({"values": {}}, "kyverno.values", ""),
        (
            {"resources": {"reports-controller": {}}},
            "kyverno",
            "resources is for reports-controller, which reports does not install",
        ),
        ({"resources": {"cleanup-controller": {}}}, "kyverno.resources", "admission-controller"),
    ],
)
def test_what_cannot_be_installed_is_refused_where_it_stands(tmp_path, keys, key, said):
    [problem] = problems(tmp_path, kyverno=KYVERNO | keys)

    assert problem.startswith(f"Pulumi.staging.yaml: {key}")
    assert said in problem
