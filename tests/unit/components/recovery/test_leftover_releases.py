"""Helm's records of a release that a killed update was installing, upgrading or removing."""

import gzip
import json
from base64 import b64decode, b64encode

import pulumi
import pytest
from kubernetes import client
from loopback import serving
from message_codes import codes

from flux_tenancy.components.engine.state import State
from flux_tenancy.components.installs.chart import RELEASE_TYPE
from flux_tenancy.components.installs.kyverno.config import KYVERNO
from flux_tenancy.components.recovery.leftover_releases import (
    LeftoverRelease,
    assumed_release,
    clear_release,
    failed,
    half_installed,
    leftover_release,
    read_leftover_release,
)

SECRETS = "/api/v1/namespaces/kyverno/secrets"


def record(version, status="deployed"):
    """A record as Helm keeps it."""
    release = {"name": "kyverno", "version": version, "info": {"status": status}, "manifest": "---"}
    content = b64encode(b64encode(gzip.compress(json.dumps(release).encode()))).decode()
    name = f"sh.helm.release.v1.kyverno.v{version}"
    metadata = {"name": name, "labels": {"owner": "helm", "version": str(version), "status": status}}
    return {"metadata": metadata, "data": {"release": content}}


def name(version):
    return f"sh.helm.release.v1.kyverno.v{version}"


def test_a_release_that_the_state_does_not_have_is_installed_anew_whatever_has_become_of_it():
    for status in ("pending-install", "deployed", "failed"):
        assert leftover_release([record(1, status)], None) == LeftoverRelease((name(1),), status)


def test_a_release_of_the_state_is_upgraded_once_and_not_again_by_the_next_update():
    [found, later] = (
        leftover_release([record(10, "pending-upgrade")], {"status": {}}),
        leftover_release([], {"description": "Finished after revision 10 was interrupted"}),
    )

    assert found == LeftoverRelease((name(10),), "pending-upgrade", True, "Finished after revision 10 was interrupted")
    assert later == LeftoverRelease(recorded=True, description=found.description)
    assert leftover_release([], {"description": ""}).description is None


def test_the_newest_record_says_how_far_it_came():
    assert leftover_release([record(10, "pending-upgrade"), record(9, "superseded")], None).status == "pending-upgrade"


def test_a_failed_record_is_the_same_but_for_its_status():
    change = failed(record(2, "pending-upgrade"))

    assert change["metadata"] == {"labels": {"status": "failed"}}
    release = json.loads(gzip.decompress(b64decode(b64decode(change["data"]["release"]))))
    assert release == {"name": "kyverno", "version": 2, "info": {"status": "failed"}, "manifest": "---"}


@pytest.mark.parametrize(
    ("state", "selector"),
    [
        ({}, "owner%3Dhelm%2Cname%3Dkyverno"),
        ({(RELEASE_TYPE, "another"): {}}, "owner%3Dhelm%2Cname%3Dkyverno"),
        (
            {(RELEASE_TYPE, "kyverno"): {}},
            "owner%3Dhelm%2Cname%3Dkyverno%2Cstatus%20in%20%28pending-install%2Cpending-upgrade%2Cpending-rollback%2C"
            "uninstalling%29",
        ),
    ],
)
def test_only_unfinished_records_are_requested(state, selector):
    asked: list[str] = []

    with serving({SECRETS: b'{"items": []}'}, asked=asked) as server:
        read_leftover_release(client.ApiClient(client.Configuration(host=server)), KYVERNO, State(state))

    [query] = asked
    assert query.endswith(f"labelSelector={selector}")


def test_a_half_installed_product_cannot_be_removed_from_the_stack():
    found = LeftoverRelease((name(1),), "pending-install")

    [problem] = half_installed(KYVERNO, found, "Pulumi.staging.yaml")

    assert (problem.file, problem.path, problem.code) == ("Pulumi.staging.yaml", "kyverno", "FT-KYV-004")
    for fine in (LeftoverRelease(), LeftoverRelease((name(1),), "pending-upgrade", recorded=True)):
        assert half_installed(KYVERNO, fine, "Pulumi.staging.yaml") == []


def settled(monkeypatch, found, status=200, dry_run=False):
    """The requests that change something, and the codes of what is logged."""
    asked: list[str] = []
    said: list[str] = []
    monkeypatch.setattr(pulumi.log, "info", said.append)
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: dry_run)
    answers = {f"{SECRETS}/{name(1)}": json.dumps(record(1, "pending-install")).encode()}
    with serving(answers, status, asked=asked) as server:
        clear_release(client.ApiClient(client.Configuration(host=server)), KYVERNO, found)
    return [each for each in asked if " " in each], codes(said)


def test_records_are_removed_where_pulumi_installs_and_failed_where_it_upgrades(monkeypatch):
    assert settled(monkeypatch, LeftoverRelease((name(1),), "pending-install")) == (
        [f"DELETE {SECRETS}/{name(1)}"],
        ["FT-KYV-006"],
    )
    assert settled(monkeypatch, LeftoverRelease((name(1),), "uninstalling", recorded=True)) == (
        [f"PATCH {SECRETS}/{name(1)}"],
        ["FT-KYV-005"],
    )
    assert settled(monkeypatch, LeftoverRelease()) == ([], [])


def test_a_preview_changes_no_record(monkeypatch):
    found = LeftoverRelease((name(1),), "pending-install")

    changes, said = settled(monkeypatch, found, dry_run=True)

    assert (changes, len(said)) == ([], 1)


def test_a_record_that_is_gone_is_skipped_and_a_refusal_ends_the_update(monkeypatch):
    found = LeftoverRelease((name(1),), "pending-install")

    settled(monkeypatch, found, status=404)
    with pytest.raises(pulumi.RunError, match="403"):
        settled(monkeypatch, found, status=403)


def test_records_that_a_preview_may_not_read_change_nothing_of_the_release():
    recorded = {(RELEASE_TYPE, "kyverno"): {"description": "Finished after revision 10 was interrupted"}}

    assert assumed_release(KYVERNO, State(recorded)).description == "Finished after revision 10 was interrupted"
    assert assumed_release(KYVERNO, State(recorded)).recorded
    assert assumed_release(KYVERNO, State({})) == LeftoverRelease()
