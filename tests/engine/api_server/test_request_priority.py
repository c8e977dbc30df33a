"""Which priority level a real API server gives the requests of a tenant's account, and those of Flux's controllers."""

from __future__ import annotations

from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.platform_objects import FLOW_CONTROL, request_priority
from tests.support.api_client import ApiClient
from tests.support.lab import eventually
from tests.support.releases import FLUX_VERSION

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "any", "namespace": "default"}}
SHARES = 4


def schema_of(api: ApiClient, user: str) -> str:
    """The flow schema of a user's request, whatever the answer is."""
    answer = api.request("GET", CONFIG_MAP, user=user)
    schemas = api.get(f"/apis/{FLOW_CONTROL}/v1/flowschemas")["items"]
    uid = answer.headers["X-Kubernetes-PF-FlowSchema-UID"]
    return str(next(each["metadata"]["name"] for each in schemas if each["metadata"]["uid"] == uid))


def test_requests_of_a_tenants_accounts_are_one_flow_and_those_of_flux_are_not(server: ApiClient) -> None:
    accounts = [f"system:serviceaccount:{name}" for name in ("apps:dev-team", "apps:other", "flux-system:flux")]
    assert {schema_of(server, each) for each in accounts} == {"service-accounts"}

    config = StackConfig.model_validate(
        {
            "cluster": {"kubeconfig": "unused"},
            "flux": {"version": FLUX_VERSION, "sha256": "0" * 64},
            "tenancy": {"requestShares": SHARES},
            "tenants": {"dev-team": {"namespaces": [{"name": "apps"}], "source": {"url": "https://git.example.com/a"}}},
        }
    )
    for each in request_priority(config):
        server.apply(each)

    own = "flux-tenancy-tenants-dev-team"
    eventually(lambda: schema_of(server, accounts[0]) == own)
    assert [schema_of(server, each) for each in accounts] == [own, own, "service-accounts"]
    # Of the default of 400 reading and 200 writing requests; Kubernetes' own levels have 245 shares.
    seats = 'apiserver_flowcontrol_nominal_limit_seats{priority_level="flux-tenancy-tenants"} 10'
    eventually(lambda: seats in server.text("/metrics"))
