"""Services with names by chance that a killed update has made: removed, and nothing else."""

import json

import pulumi
import pytest
from kubernetes import client
from loopback import serving

from components.kubernetes_api import ClusterFacts
from components.manifests import OWNERSHIP
from components.recorded import Recorded
from components.stray_hosts import read_stray_hosts, remove_hosts, stray_hosts

SERVICES = "/api/v1/namespaces/flux-system/services"
MARKS = {
    "annotations": OWNERSHIP,
    "managedFields": [{"manager": "pulumi-kubernetes-1a2b3c4d", "operation": "Apply"}],
}
STRAY, KNOWN, FOREIGN = (f"artifacts-{digit * 32}" for digit in "abc")
BEGUN = {("pulumi:providers:kubernetes", "cluster"): {"clusterIdentifier": "this"}}
SERVICE = {("kubernetes:core/v1:Service", "flux-system/artifacts-of-source-controller"): {"metadata": {"name": KNOWN}}}


def test_only_what_the_program_has_made_and_not_recorded_is_a_stray():
    services = [{"name": name} | MARKS for name in (STRAY, KNOWN, "source-controller", "artifacts-short")]

    assert stray_hosts([*services, {"name": FOREIGN}], Recorded(SERVICE)) == [STRAY]


@pytest.mark.parametrize(
    ("recorded", "found"),
    [
        (BEGUN, [STRAY]),
        ({}, []),
        (BEGUN | {("kubernetes:apps/v1:Deployment", "flux-system/source-controller"): {}}, []),
    ],
)
def test_a_stack_whose_controllers_stand_asks_nobody(recorded, found):
    asked: list[str] = []
    answers = {SERVICES: json.dumps({"items": [{"metadata": {"name": STRAY} | MARKS}]}).encode()}
    with serving(answers, asked=asked) as server:
        api = client.ApiClient(client.Configuration(host=server))
        assert read_stray_hosts(api, ClusterFacts("this", "v1.36.3", {}), Recorded(recorded)) == found

    assert bool(asked) is bool(found)


@pytest.mark.parametrize(("dry_run", "removed"), [(False, [f"DELETE {SERVICES}/{STRAY}"]), (True, [])])
def test_strays_are_removed_and_a_preview_removes_nothing(monkeypatch, dry_run, removed):
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: dry_run)
    asked: list[str] = []
    with serving({}, 404, asked=asked) as server:
        remove_hosts(client.ApiClient(client.Configuration(host=server)), [STRAY])

    assert asked == removed


def test_a_cluster_that_refuses_ends_the_update(monkeypatch):
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: False)
    with serving({}, 403) as server, pytest.raises(pulumi.RunError, match="refuses this user"):
        remove_hosts(client.ApiClient(client.Configuration(host=server)), [STRAY])
