"""A copy is what somebody has asked for: nothing that the cluster has added, all that a policy may look at."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from flux_tenancy.operations.admission.copies import copy_of

METADATA = {
    "name": "web",
    "namespace": "apps",
    "uid": "u",
    "resourceVersion": "5",
    "generation": 2,
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "finalizers": ["finalizers.fluxcd.io"],
    "ownerReferences": [{"kind": "A", "name": "a"}],
    "managedFields": [{}],
    "labels": {"app": "web"},
    "annotations": {"a": "b"},
}


def copied(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    manifest = {"apiVersion": "v1", "kind": kind, "metadata": METADATA, "spec": spec, "status": {"x": 1}}
    before = deepcopy(manifest)
    copy = copy_of(manifest)
    assert manifest == before
    return copy


def test_a_copy_has_another_name_and_nothing_of_the_life_of_the_object():
    assert copied("ConfigMap", {"replicas": 1}) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "generateName": "web-",
            "namespace": "apps",
            "labels": {"app": "web"},
            "annotations": {"a": "b"},
        },
        "spec": {"replicas": 1},
    }


def test_an_object_without_a_spec_is_copied_as_it_is():
    manifest = {"apiVersion": "v1", "kind": "Service", "metadata": METADATA, "data": {"a": "b"}}

    assert copy_of(manifest)["data"] == {"a": "b"}


def test_a_service_gets_new_addresses_and_ports():
    spec = {
        "type": "NodePort",
        "clusterIP": "10.0.0.1",
        "clusterIPs": ["10.0.0.1"],
        "healthCheckNodePort": 31000,
        "externalIPs": ["192.0.2.1"],
        "ports": [{"port": 80, "nodePort": 30080}],
    }

    assert copied("Service", spec)["spec"] == {
        "type": "NodePort",
        "externalIPs": ["192.0.2.1"],
        "ports": [{"port": 80}],
    }


def test_a_service_without_address_stays_so():
    spec = {"clusterIP": "None", "clusterIPs": ["None"]}

    assert copied("Service", spec)["spec"] == spec


def test_a_pod_is_on_no_node_yet():
    spec = {"nodeName": "lab", "hostNetwork": True, "ephemeralContainers": [{}]}

    assert copied("Pod", spec)["spec"] == {"hostNetwork": True}


def test_a_job_gets_a_selector_of_its_own():
    labels = {"controller-uid": "u", "batch.kubernetes.io/controller-uid": "u", "job-name": "j", "app": "web"}
    spec = {"selector": {"matchLabels": {"controller-uid": "u"}}, "template": {"metadata": {"labels": labels}}}

    assert copied("Job", spec)["spec"] == {"template": {"metadata": {"labels": {"app": "web"}}}}


def test_a_job_whose_selector_was_written_keeps_it():
    spec = {"manualSelector": True, "selector": {"a": "b"}, "template": {}}

    assert copied("Job", spec)["spec"] == spec
