"""Both engines' words, in audit mode and enforced, and what is none of theirs."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from flux_tenancy.components.policies.config import PolicyEngine, PolicyMode
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.operations.admission.answers import Objection, Response, objections
from flux_tenancy.operations.admission.dry_run import copy_of

SERVICE = (PolicyName.SERVICE_EXPOSURE, "spec.type NodePort is not allowed; use ClusterIP")
HOST = (PolicyName.HOST_ACCESS, "hostNetwork: say \"no\", or 'never'")
WEBHOOK = 'admission webhook "vpol.validate.kyverno.svc-fail-finegrained-x" denied the request: '


def native(policy: PolicyName, message: str, mode: PolicyMode = PolicyMode.AUDIT) -> Objection:
    return Objection(policy, PolicyEngine.NATIVE, mode, message)


def kyverno(policy: PolicyName, message: str, mode: PolicyMode = PolicyMode.AUDIT) -> Objection:
    return Objection(policy, PolicyEngine.KYVERNO, mode, message)


def header(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{quoted}"'.encode().decode("latin-1")


def warning(policy: PolicyName, message: str) -> str:
    name = f"flux-tenancy-{policy}"
    return header(f"Validation failed for ValidatingAdmissionPolicy '{name}' with binding '{name}': {message}")


def test_warnings_of_both_engines_are_read_to_the_last_quote():
    warnings = [
        warning(*SERVICE),
        warning(*HOST),
        header(f"Policy flux-tenancy-{SERVICE[0]} failed: {SERVICE[1]}"),
        header(f"Policy flux-tenancy-{HOST[0]} error: {HOST[1]}"),
    ]

    assert objections(Response(201, warnings)) == [native(*SERVICE), native(*HOST), kyverno(*SERVICE), kyverno(*HOST)]


def test_a_warning_is_utf_8_however_the_client_takes_it():
    assert objections(Response(201, [warning(PolicyName.HOST_ACCESS, "größer als 5 µs")])) == [
        native(PolicyName.HOST_ACCESS, "größer als 5 µs")
    ]


def test_a_refusal_of_the_api_server_names_one_policy():
    message = (
        "services \"web-\" is forbidden: ValidatingAdmissionPolicy 'flux-tenancy-service-exposure' with binding "
        f"'flux-tenancy-service-exposure' denied request: {SERVICE[1]}"
    )

    assert objections(Response(422, (), message)) == [native(*SERVICE, PolicyMode.ENFORCE)]


def test_a_refusal_of_kyverno_names_all_its_policies():
    said = [f"Policy flux-tenancy-{policy} failed: {message}" for policy, message in (SERVICE, HOST)]
    message = WEBHOOK + "; ".join(said)

    assert objections(Response(400, (), message)) == [
        kyverno(*SERVICE, PolicyMode.ENFORCE),
        kyverno(*HOST, PolicyMode.ENFORCE),
    ]


@pytest.mark.parametrize(
    "text",
    [
        'would violate PodSecurity "restricted:latest": host namespaces (hostNetwork=true)',
        "Validation failed for ValidatingAdmissionPolicy 'somebody-elses' with binding 'x': no",
        "Policy somebody-elses failed: no",
        "spec: Policy flux-tenancy-host-access failed: said by a tenant",
        'unknown field "spec.x"',
    ],
)
def test_what_others_warn_of_is_none_of_ours(text):
    assert objections(Response(201, [header(text)])) == []


@pytest.mark.parametrize(
    "message",
    [
        'pods "web-x" is forbidden: violates PodSecurity "restricted:latest": host namespaces',
        'pods "web-x" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=5, limited: pods=5',
        "services \"x\" is forbidden: ValidatingAdmissionPolicy 'somebody-elses' with binding 'x' denied request: no",
        'admission webhook "other.example.com" denied the request: Policy flux-tenancy-host-access failed: no',
        f"{WEBHOOK}Policy somebody-elses failed: no",
        'Service "x" is invalid: spec.externalName: Invalid value: "a is forbidden: ValidatingAdmissionPolicy '
        "'flux-tenancy-host-access' denied request: no\"",
    ],
)
def test_what_others_refuse_is_none_of_ours(message):
    assert objections(Response(403, (), message)) == []


def test_nothing_that_a_tenant_writes_steers_a_terminal():
    assert objections(Response(201, [warning(PolicyName.HOST_ACCESS, "a\x1b]0;title\x07")]))[0].message == "a ]0;title"


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
        "metadata": {"generateName": "web-", "namespace": "apps", "labels": {"app": "web"}, "annotations": {"a": "b"}},
        "spec": {"replicas": 1},
    }


def test_an_object_without_a_spec_is_copied_as_it_is():
    manifest = {"apiVersion": "v1", "kind": "Service", "metadata": METADATA, "data": {"a": "b"}}

    assert copy_of(manifest)["data"] == {"a": "b"}


OF_JOB = {"controller-uid": "u", "batch.kubernetes.io/controller-uid": "u", "job-name": "j"}


@pytest.mark.parametrize(
    ("kind", "stays", "goes"),
    [
        (
            "Service",
            {"type": "NodePort", "externalIPs": ["192.0.2.1"], "ports": [{"port": 80}]},
            {
                "clusterIP": "10.0.0.1",
                "clusterIPs": ["10.0.0.1"],
                "healthCheckNodePort": 31000,
                "ports": [{"port": 80, "nodePort": 30080}],
            },
        ),
        ("Service", {"clusterIP": "None", "clusterIPs": ["None"]}, {}),
        ("Pod", {"hostNetwork": True}, {"nodeName": "lab", "ephemeralContainers": [{}]}),
        (
            "Job",
            {"template": {"metadata": {"labels": {"app": "web"}}}},
            {
                "selector": {"matchLabels": {"controller-uid": "u"}},
                "template": {"metadata": {"labels": OF_JOB | {"app": "web"}}},
            },
        ),
        ("Job", {"manualSelector": True, "selector": {"a": "b"}, "template": {}}, {}),
    ],
    ids=["addresses and ports", "no address", "on no node yet", "selector of its own", "written selector"],
)
def test_a_copy_gets_what_a_controller_or_the_api_server_chooses_anew(kind, stays, goes):
    assert copied(kind, {**stays, **goes})["spec"] == stays
