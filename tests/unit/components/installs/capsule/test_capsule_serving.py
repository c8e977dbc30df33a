"""Whether admission lets Capsule write in a namespace of a tenant."""

import pytest

from flux_tenancy.components.cluster.hooks import NotReady
from flux_tenancy.components.installs import capsule as serving
from flux_tenancy.components.installs.capsule import wait_until_admitted

REFUSED = 'admission webhook "validate.kyverno.svc-fail" denied the request: rulestatuses not found'


def test_the_update_goes_on_once_what_capsule_writes_is_admitted():
    asked = []

    wait_until_admitted(lambda path, manifest: asked.append((path, manifest["kind"])), "apps")

    assert asked == [("/apis/capsule.clastix.io/v1beta2/namespaces/apps/rulestatuses", "RuleStatus")]


def test_a_refusal_that_stays_ends_the_update_with_its_reason(monkeypatch):
    monkeypatch.setattr(serving, "TIMEOUT_SECONDS", 0)

    with pytest.raises(NotReady) as failed:
        wait_until_admitted(lambda *_: REFUSED, "apps")

    assert "(FT-CAP-009)" in str(failed.value)
    assert REFUSED in str(failed.value) and "namespace apps" in str(failed.value)
