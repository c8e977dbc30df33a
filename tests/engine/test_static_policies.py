"""Native policies as files of a real API server: in force without any object, and out of reach of cluster-admin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dev.lab.build import ensure
from dev.lab.free_ports import free_port_base
from dev.lab.settings import Settings
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.rendering import object_name
from flux_tenancy.review.render.rendered import PLATFORM, RenderedObject
from flux_tenancy.review.render.static_policies import SUFFIX, static_policies, write_static_policies
from tests.support import capsule_cases
from tests.support.api_client import ApiClient
from tests.support.api_server import TOOLS, ApiServer
from tests.support.lab import eventually
from tests.support.policy_cases import CASES, NAMESPACE_OBJECTS, Case
from tests.support.policy_requests import access, ask

CHECKOUT = Path(__file__).parents[2]
PAGE = CHECKOUT / "docs" / "policies-rollout.md"
BUILT_IN = [
    case
    for case in CASES
    if case.policy in (PolicyName.HOST_ACCESS, PolicyName.SERVICE_EXPOSURE)
    and case.config == "open"
    # Nobody could create what these policies refuse, as they are in force from the start.
    and case.operation == "CREATE"
]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiClient]:
    folder = tmp_path_factory.mktemp("static")
    policies = [
        RenderedObject(PLATFORM, "kubernetes:", manifest["metadata"]["name"], manifest)
        for manifest in capsule_cases.native_policies("open").manifests
    ]
    write_static_policies("staging", static_policies(policies), folder / "policies")
    configuration = folder / "admission.yaml"
    [example] = re.findall(r"^```yaml\n(apiVersion: apiserver.*?)^```", PAGE.read_text(), re.M | re.S)
    configuration.write_text(example.replace("/etc/kubernetes/policies", str(folder / "policies")))
    server = ApiServer(folder / "api", free_port_base(0), f"--admission-control-config-file={configuration}")
    server.start(ensure(Settings.load(), TOOLS))
    try:
        for manifest in (*NAMESPACE_OBJECTS.values(), *access()):
            server.client.apply(manifest)
        yield server.client
    finally:
        server.stop()


@pytest.mark.parametrize("case", BUILT_IN, ids=lambda case: case.id)
def test_they_decide_as_the_objects_do(api: ApiClient, case: Case) -> None:
    eventually(lambda: ask(api, case, case.user).is_success is (case.refused is None))
    if case.refused is not None:
        message = ask(api, case, case.user).json()["message"]
        assert f"'{object_name(case.policy)}{SUFFIX}'" in message and case.refused in message


@pytest.mark.parametrize("kind", ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"])
def test_no_user_of_the_api_can_read_delete_or_shadow_them(api: ApiClient, kind: str) -> None:
    name = object_name(PolicyName.SERVICE_EXPOSURE) + SUFFIX
    spec = {"policyName": name, "validationActions": ["Audit"]} if kind.endswith("Binding") else {"validations": []}
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}}

    assert api.request("GET", policy).status_code == 404
    assert api.request("DELETE", policy).status_code == 404
    created = api.request("POST", policy | {"spec": spec})
    assert created.status_code == 422 and SUFFIX in created.json()["message"]
