"""What tenants try and what they are there for, on a real cluster, under each engine and switched by `pulumi up`.

The requests are those of the policies' cases. Each one of the tenant's is made twice: by its service account
and by one of its people, both of whom roles would let do anything in their namespaces, so that it is admission that
refuses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from dev.lab.control_plane import NODE_NAME
from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.policies.component import probe_answer, probe_policy, probe_request
from flux_tenancy.components.policies.config import PoliciesConfig, PolicyEngine
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.policies.rendering import object_name
from flux_tenancy.components.policies.table import policies
from flux_tenancy.components.tenant.grants import ExceptedPolicy
from flux_tenancy.components.vocabulary.manifests import merge_patch
from tests.support.api_client import ApiClient
from tests.support.environment import Environment
from tests.support.isolation import TENANT as SUITE_TENANT
from tests.support.isolation import run, suite_tenant
from tests.support.lab import Lab, RunningCluster, eventually
from tests.support.policy_cases import CASES, CLOCK, CONFIGS, NAMESPACE_OBJECTS, RELAXED, TENANT, Case, User
from tests.support.policy_requests import CUSTOM_KINDS, access, as_in_flux_2_10, ask, bound
from tests.support.project import Project
from tests.support.releases import FLUX_BUNDLE

NATIVE_ONLY = {policy.name for policy in policies(PoliciesConfig()) if policy.native_only}
ENGINES = (PolicyEngine.KYVERNO, PolicyEngine.BOTH, PolicyEngine.NATIVE)
OTHER_SOURCES = ("ocirepository", "helmrepository", "bucket", "imagerepository")
SAMPLE = {(case.policy, case.refused is None): case.id for case in reversed(CASES) if case.config == "open"}.values()
"""The first good and the first bad request of each policy that the first configuration has in force."""

# Policies read grants, and exempt certificates of sources, only if a tenant has any. This one has only a namespace.
RELAXING: dict[str, Any] = {
    "namespaces": [{"name": "relaxing"}],
    "source": {"url": "https://git.example.com/org/relaxing"},
    "state": "leaving",
}
GRANTS = [
    {
        "reason": "A tenant has to have each of them.",
        "serviceTypes": ["NodePort"],
        "exceptions": [{"policy": policy.value} for policy in ExceptedPolicy],
    }
]
OWN_LISTS = {"csiDrivers": ["csi.example.com"], "priorityClasses": ["gold"], "storageClasses": ["slow"]}
"""The policies read such lists where a tenant has one."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        metafunc.parametrize(("engine", "config", "case"), rows(every=metafunc.config.getoption("--all")))


def rows(*, every: bool) -> Iterator[Any]:
    """Kyverno gets every request here; tests/engine/test_policies_native.py covers the native policies.

    The rest shows that each engine, alone or with the other, is in force in a whole cluster.

    Args:
        every: every request for each engine, as in exhaustive tests.
    """
    for engine in ENGINES:
        for config in CONFIGS:
            # An update stands between one configuration and the next.
            marks = [pytest.mark.together(f"{engine.value}-{config}")]
            for case in (case for case in CASES if case.config == config):
                if every or engine is PolicyEngine.KYVERNO or case.id in SAMPLE:
                    yield pytest.param(engine, config, case, id=f"{engine.value}-{config}-{case.id}", marks=marks)


@pytest.fixture(scope="module")
def cluster(lab: Lab) -> Iterator[RunningCluster]:
    with lab.cluster("admission") as own:
        yield own


@pytest.fixture(scope="module")
def stack(lab: Lab, cluster: RunningCluster, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Flux and Kyverno without policies; what the cases stand on is older than these."""
    project = Project(tmp_path_factory.mktemp("admission") / "project", lab.pulumi)
    project.tenant("relaxing", RELAXING)
    environment = Environment(
        lab, project, cluster, flux=lab.bundle(), kyverno=lab.kyverno_chart("1.19.1") | {"replicas": 1}
    )
    environment.up()
    return environment


@pytest.fixture(scope="module")
def api(lab: Lab, stack: Environment) -> Iterator[ApiClient]:
    client = ApiClient(stack.cluster.kubeconfig)
    # Nobody fetches the made-up sources of the cases.
    for name in ("source-controller", "kustomize-controller", "helm-controller", "notification-controller"):
        stack.cluster.kubectl("scale", "deployment", name, "-n", "flux-system", "--replicas=0")
    for manifest in yaml.load_all(lab.tools[FLUX_BUNDLE].read_text(), FastLoader):
        # Those of the controllers too that the stack does not install.
        if manifest["kind"] == "CustomResourceDefinition":
            client.apply(as_in_flux_2_10(manifest))
    for manifest in (*CUSTOM_KINDS, *NAMESPACE_OBJECTS.values(), *access()):
        client.apply(manifest)
    # Nobody renews it either.
    client.apply(CLOCK)
    eventually(lambda: "widgets" in str(client.get("/apis/example.com/v1")))
    for namespace in NAMESPACE_OBJECTS:
        subject = {"kind": "ServiceAccount", "name": TENANT, "namespace": "apps"}
        client.apply(bound("RoleBinding", {"name": "everything", "namespace": namespace}, "cluster-admin", subject))
    for case in CASES:
        for older in (case.old, case.pod):
            if older is not None:
                client.apply(on_a_real_node(older))
        if case.leaving:
            assert client.request("DELETE", case.target).is_success
    yield client
    client.close()


@pytest.fixture(scope="module")
def in_force(lab: Lab, stack: Environment, api: ApiClient) -> Callable[[PolicyEngine, str], None]:
    """Puts the policies of a configuration into force, as an administrator does."""
    current: tuple[PolicyEngine, str] | None = None
    charts = {"kind": "HelmRepository", "url": "https://charts.example.com"}
    certified = charts | {"certificateAuthority": lab.git.certificate_authority.read_text()}
    relaxing = {"grants": GRANTS, "sources": {"charts": certified}, "policies": OWN_LISTS}

    def put(engine: PolicyEngine, config: str) -> None:
        nonlocal current
        if (engine, config) != current:
            chosen = CONFIGS[config].model_dump(mode="json", by_alias=True, exclude_defaults=True)
            stack.config["policies"] = chosen | {"engine": engine.value}
            stack.config["tenants"]["relaxing"] = relaxing if config in RELAXED else {}
            stack.up()
            for each in (PolicyEngine.NATIVE, PolicyEngine.KYVERNO):
                if each is PolicyEngine.NATIVE or engine.kyverno:
                    wait_for_deletions(api, each, f"{engine.value}-{config}")
            current = (engine, config)

    return put


def wait_for_deletions(api: ApiClient, engine: PolicyEngine, update: str) -> None:
    """Wait until an engine has seen all that this update did to its policies.

    Policies that the new configuration does not have are deleted last, after the product's own probe. An engine sees
    the changes in their order, so it has seen the deletions once it enforces a policy that is younger.
    """
    for manifest in map(younger, probe_policy(engine, update)):
        api.apply(manifest)
    request = younger(probe_request(engine))
    eventually(lambda: probe_answer(update) in api.request("POST", request, dry_run=True).text, what=update)


def younger(manifest: dict[str, Any]) -> dict[str, Any]:
    """The same for a probe beside the product's own."""
    renamed: dict[str, Any] = json.loads(json.dumps(manifest).replace("probe", "younger"))
    return renamed


def on_a_real_node(manifest: dict[str, Any]) -> dict[str, Any]:
    """An object whose pod, if it is one that names its node, is not collected as lost."""
    named = manifest["kind"] == "Pod" and "nodeName" in manifest["spec"]
    return merge_patch(manifest, {"spec": {"nodeName": NODE_NAME}}) if named else manifest


def users_of(case: Case) -> tuple[User, ...]:
    return (User.TENANT, User.MEMBER) if case.user in (User.TENANT, User.MEMBER) else (case.user,)


def refusal(engine: PolicyEngine, policy: PolicyName) -> str:
    """How the engine begins to say that a policy refuses; of both the API server's own is heard first."""
    if engine.native or policy in NATIVE_ONLY:
        return f"ValidatingAdmissionPolicy '{object_name(policy)}'"
    return f"Policy {object_name(policy)} failed: "


def test_a_request_of_the_table(
    in_force: Callable[[PolicyEngine, str], None], api: ApiClient, engine: PolicyEngine, config: str, case: Case
) -> None:
    in_force(engine, config)

    for user in users_of(case):
        response = ask(api, case, user)
        if case.refused is None:
            assert response.is_success, f"{user}: {response.text}"
        else:
            message = response.json().get("message", "")
            assert refusal(engine, case.policy) in message, f"{user}: {response.text}"
            assert case.refused in message


@pytest.mark.parametrize(
    "engine", [pytest.param(engine, marks=pytest.mark.together(f"{engine.value}-open")) for engine in ENGINES]
)
def test_the_isolation_suite(
    in_force: Callable[[PolicyEngine, str], None], api: ApiClient, stack: Environment, engine: PolicyEngine
) -> None:
    """A tenant whose role stops nothing in its namespace; sources may come from anywhere that is written properly."""
    in_force(engine, "open")
    for manifest in suite_tenant():
        api.apply(manifest)

    found = run(stack.cluster.kubeconfig, "--tenant", SUITE_TENANT)

    anywhere = {"13-git", "13-git-port", *(f"13-{kind}" for kind in OTHER_SOURCES)}
    assert found.ids("passed") <= anywhere, [found.attempts[each] for each in found.ids("passed")]
    assert not found.controls("refused")
    assert found.attempts["20-node-port"]["by"] == object_name(PolicyName.SERVICE_EXPOSURE)


SPOT = [
    next(case for case in CASES if case.policy is policy and case.refused is not None and case.config == "open")
    for policy in (PolicyName.ALLOWED_SOURCES, PolicyName.TENANT_SERVICE_ACCOUNT, PolicyName.TENANT_LIMITS)
]


def test_native_policies_still_refuse_without_kyvernos_webhook(
    in_force: Callable[[PolicyEngine, str], None], api: ApiClient, stack: Environment
) -> None:
    """Threat 23: first nobody answers at Kyverno's webhooks, then they are gone."""
    in_force(PolicyEngine.BOTH, "open")
    stack.cluster.kubectl("scale", "deployment", "--all", "-n", "kyverno", "--replicas=0")
    eventually(lambda: not stack.cluster.get("pods", namespace="kyverno")["items"])
    try:
        assert_native_refuses(api)
        # Outside of tenants' namespaces nobody waits for Kyverno.
        note: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note"}}
        for namespace in ("default", "flux-system", "kube-system"):
            note["metadata"]["namespace"] = namespace
            assert api.request("POST", note, dry_run=True).is_success
        stack.cluster.kubectl("delete", "validatingwebhookconfiguration", "kyverno-resource-validating-webhook-cfg")
        assert_native_refuses(api)
    finally:
        stack.cluster.kubectl("scale", "deployment", "--all", "-n", "kyverno", "--replicas=1")
    # An update puts right what was disturbed, and waits until it is.
    stack.up()


def assert_native_refuses(api: ApiClient) -> None:
    for case in SPOT:
        for user in users_of(case):
            assert refusal(PolicyEngine.NATIVE, case.policy) in ask(api, case, user).text
