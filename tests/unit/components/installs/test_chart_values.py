"""The values of the charts that a stack installs, word for word: what differs there is an upgrade of every cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from sample_capsule import capsule_config
from sample_kyverno import kyverno_config

from flux_tenancy.components.installs import capsule, kyverno
from tests.support.goldens import assert_golden, differing

RULE = {"apiGroups": [""], "resources": ["resourcequotas"], "verbs": ["create"]}
RESOURCES = {
    "admission-controller": {"requests": {"cpu": "1"}},
    "background-controller": {"requests": {"cpu": "200m"}},
}
ADMINISTRATORS = [
    {"kind": "User", "name": "ada@example.com"},
    {"kind": "Group", "name": "platform"},
    {"kind": "ServiceAccount", "name": "deployer", "namespace": "ci"},
]


def flat(values: Mapping[str, Any], start: str = "") -> dict[str, Any]:
    """Each value by its path, as `helm --set` takes it."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= flat(value, f"{start}{key}.") if isinstance(value, dict) and value else {f"{start}{key}": value}
    return found


@pytest.mark.golden
def test_each_chart_is_installed_with_exactly_these_values():
    given = kyverno_config(reports=True, resources=RESOURCES)
    usual = flat(kyverno.helm_values(kyverno_config()))
    found = {
        "Kyverno": usual,
        "Kyverno of two replicas": differing(flat(kyverno.helm_values(kyverno_config(replicas=2))), usual),
        "Kyverno of one replica": differing(flat(kyverno.helm_values(kyverno_config(replicas=1))), usual),
        "Kyverno with more": differing(flat(kyverno.helm_values(given, [RULE], True, 256)), usual),
        "Capsule": flat(capsule.helm_values(capsule_config(administrators=ADMINISTRATORS))),
    }
    assert_golden("chart-values.yaml", found)
    assert "extraManifests" not in capsule.helm_values(capsule_config(replicas=1)), "a budget would block drains"
