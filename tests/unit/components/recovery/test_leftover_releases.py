"""Helm's records of a release that a killed update was installing, upgrading or removing."""

import json

import pytest
from kubernetes import client
from loopback import serving

from flux_tenancy.components.engine.state import State
from flux_tenancy.components.installs.kyverno import KYVERNO
from flux_tenancy.components.installs.product import RELEASE_TYPE
from flux_tenancy.components.recovery.cluster import unfinished_release

SECRETS = "/api/v1/namespaces/kyverno/secrets"
KNOWN = State({(RELEASE_TYPE, "kyverno"): {}})
UNKNOWN = State({(RELEASE_TYPE, "another"): {}})
ALL = "owner%3Dhelm%2Cname%3Dkyverno"
UNFINISHED = f"{ALL}%2Cstatus%20in%20%28pending-install%2Cpending-upgrade%2Cpending-rollback%2Cuninstalling%29"


def record(version, status):
    """The metadata of a record, as Helm keeps it."""
    name = f"sh.helm.release.v1.kyverno.v{version}"
    return {"metadata": {"name": name, "labels": {"owner": "helm", "version": str(version), "status": status}}}


def found(state, *records, wanted=True):
    """The problems, and the selectors of what was asked for."""
    asked: list[str] = []
    answer = json.dumps({"items": records}).encode()
    with serving({SECRETS: answer}, asked=asked) as server:
        api = client.ApiClient(client.Configuration(host=server))
        problems = unfinished_release(api, KYVERNO, state, "Pulumi.staging.yaml", wanted=wanted)
    return problems, [each.rpartition("labelSelector=")[2] for each in asked]


@pytest.mark.parametrize(("state", "selector"), [(UNKNOWN, ALL), (KNOWN, UNFINISHED)], ids=["unknown", "known"])
def test_only_records_that_are_in_the_way_are_asked_for(state, selector):
    assert found(state) == ([], [selector])


@pytest.mark.parametrize(
    ("state", "records", "status"),
    [
        (UNKNOWN, [record(1, "pending-install")], "pending-install"),
        (UNKNOWN, [record(1, "deployed")], "deployed"),
        (KNOWN, [record(10, "pending-upgrade"), record(9, "superseded")], "pending-upgrade"),
    ],
)
def test_an_update_says_how_to_clear_the_records_and_stops(state, records, status):
    [problem], _ = found(state, *records)

    assert (problem.file, problem.path, problem.code) == ("Pulumi.staging.yaml", "kyverno", "FT-KYV-005")
    assert f"Kyverno's Helm release {status}; run `kubectl delete secret -n kyverno -l owner=helm,name=kyverno`" in (
        problem.message
    )


def test_a_half_installed_product_cannot_be_removed_from_the_stack():
    [problem], _ = found(UNKNOWN, record(1, "pending-install"), wanted=False)

    assert problem.code == "FT-KYV-004"
    assert found(KNOWN, record(2, "pending-upgrade"), wanted=False) == ([], [])
