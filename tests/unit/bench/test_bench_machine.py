"""Facts about the machine: each figure says what it was measured with."""

from bench.machine import facts
from lab.settings import Settings


def test_the_pinned_versions_are_told():
    versions = facts(Settings.load())["versions"]

    assert versions["pulumi"] == "v3.259.0"
    assert versions["pulumi-kubernetes"] == "v4.25.0"
    assert versions["kubernetes"] == "v1.36.3"
    assert versions["flux"] == "2.9.5"
    assert versions["kyverno"] == "1.19.1"
