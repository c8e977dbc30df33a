"""Pods of tenants with `policies.podDefaults`, at an API server and at the program that answers for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.policies.native_only import mutation
from flux_tenancy.components.policies.policy import POLICIES_FOLDER
from flux_tenancy.components.tenant.namespaces import PodSecurity, pod_security_labels
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.review.admission.program import POD_SECURITY, Answer, Request, Surroundings, ask
from tests.support.api_client import ApiClient
from tests.support.lab import eventually
from tests.support.offline_requests import PROGRAM, tool

CASES = yaml.load((POLICIES_FOLDER / "pod-defaults" / "cases.yaml").read_text(), FastLoader)
LEVELS = {"restricted": PodSecurity.RESTRICTED, "baseline": PodSecurity.BASELINE, "platform": PodSecurity.PRIVILEGED}
NAMESPACES: list[dict[str, Any]] = [
    {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": name,
            "labels": pod_security_labels(level) | ({} if name == "platform" else {TENANT_LABEL: "team"}),
        },
    }
    for name, level in LEVELS.items()
]
parametrized = pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])


def pod(case: Mapping[str, Any], name: str = "app") -> dict[str, Any]:
    metadata = {"name": name, "namespace": case.get("namespace", "restricted")}
    spec = {"automountServiceAccountToken": False} | case["spec"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.fixture(scope="module")
def api(server: ApiClient) -> ApiClient:
    """The API server with the policy in force."""
    for manifest in NAMESPACES:
        server.apply(manifest)
        account = {"name": "default", "namespace": manifest["metadata"]["name"]}
        server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    assert not server.request("POST", pod(CASES[0]), dry_run=True).is_success
    for manifest in mutation("pod-defaults"):
        server.apply(manifest)
    eventually(lambda: server.request("POST", pod(CASES[0]), dry_run=True).is_success, what="the policy in force")
    return server


@parametrized
def test_a_pod_gets_what_it_leaves_out(api: ApiClient, case: Mapping[str, Any]) -> None:
    response = api.request("POST", pod(case), dry_run=True)

    if "refused" in case:
        assert response.status_code == 403 and case["refused"] in response.json()["message"]
        return
    assert response.is_success, response.text
    spec = response.json()["spec"]
    assert spec["securityContext"] == case["pod"]
    containers = [*spec.get("initContainers", ()), *spec["containers"]]
    assert [each.get("securityContext") for each in containers] == case["containers"]


@pytest.fixture(scope="module")
def answers() -> dict[str, Answer]:
    """What the program of reviews says to each case."""
    surroundings = Surroundings(namespaces=NAMESPACES, policies=mutation("pod-defaults"))
    found = ask(tool(PROGRAM), surroundings, [Request("CREATE", pod(case)) for case in CASES])
    return dict(zip([case["case"] for case in CASES], found, strict=True))


@parametrized
def test_the_program_of_reviews_judges_the_pod_that_will_be(
    answers: dict[str, Answer], case: Mapping[str, Any]
) -> None:
    answer = answers[case["case"]]

    assert answer.errors == ()
    if "refused" not in case:
        assert answer.objections == ()
        return
    [found] = answer.objections
    assert found.policy == POD_SECURITY and case["refused"] in found.message


def test_a_pod_that_runs_is_not_changed(api: ApiClient) -> None:
    """Flux applies a Pod of a repository again and again, and would see a difference."""
    metadata = {"metadata": {"labels": {"a": "b"}}}
    assert api.request("POST", pod(CASES[0], "running")).is_success
    before = api.request("GET", pod(CASES[0], "running")).json()

    after = api.request("PATCH", pod(CASES[0], "running"), body=metadata)

    assert after.is_success and after.json()["spec"] == before["spec"]
