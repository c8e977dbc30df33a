"""Hooks by which a step waits for the cluster: which objects have which, and that no wait holds another's thread."""

import asyncio
from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, cast

import pulumi
import pytest
from kubernetes.client import ApiClient
from recorded_program import run
from sample_stack import load, removal

from components.cluster.hooks import hooked, ready_hook
from components.cluster.waiting import in_thread
from components.git.source import git_access
from components.stack.admission import Guard
from components.tenant.component import Tenant, TenantArgs
from components.tenant.quota_hooks import QuotaHooks, counted
from components.tenant.quota_status import NotCounting, QuotaStatus

BASE = """\
namespaces:
  - name: apps
  - name: apps-jobs
source:
  url: https://git.example.com/dev-team/apps
"""
FLUX_OBJECTS = {
    "count/gitrepositories.source.toolkit.fluxcd.io",
    "count/kustomizations.kustomize.toolkit.fluxcd.io",
}
OBJECTS = {"count/configmaps", "count/serviceaccounts", "count/rolebindings.rbac.authorization.k8s.io"}


class Quotas(QuotaStatus):
    """A cluster that counts at once, but for one namespace.

    Attributes:
        asked: what was waited for.
    """

    def __init__(self, never: str = "") -> None:
        super().__init__(cast(ApiClient, None))
        self.asked: list[tuple[str, str]] = []
        self._never = never

    def wait_until_counting(self, namespace: str, name: str, counted: Collection[str]) -> None:
        self.asked.append((namespace, name))
        if namespace == self._never:
            raise NotCounting(f"has not begun to count in {namespace}")


@pytest.fixture
def config(tmp_path):
    return load(tmp_path, bases={"dev-team": BASE}, tenants={"dev-team": {}})


def step(**metadata: Any) -> pulumi.ResourceHookArgs:
    return pulumi.ResourceHookArgs("", "", "", "", new_inputs={"metadata": metadata})


def test_everything_of_a_tenant_waits_before_a_change_until_the_policies_guard_and_its_quotas_count(config):
    def program():
        in_force = ready_hook("policies-in-force", lambda: pytest.fail("nothing is created"))
        waiting = [Guard([], [in_force]).waiting, hooked(QuotaHooks(Quotas(), config.tenants, config.tenancy).of)]
        args = TenantArgs(config.tenants["dev-team"], git_access(config.git_sources), config.tenancy, *removal())
        Tenant("dev-team", args, pulumi.ResourceOptions(transformations=waiting))

    resources = run(program)
    guarded = {"before_update": ["policies-in-force"]}
    quotas = {name for name in resources if name.startswith("ResourceQuota ")}
    namespaces = {"Namespace apps", "Namespace apps-jobs"}

    assert len(quotas) == 4
    assert {name: resource.hooks for name, resource in resources.items()} == {
        "Tenant dev-team": {},
        **dict.fromkeys(namespaces, {"before_create": ["policies-in-force"], **guarded}),
        **dict.fromkeys(quotas, {"before_create": ["policies-in-force", "quotas-countable"], **guarded}),
        **dict.fromkeys(
            resources.keys() - quotas - namespaces - {"Tenant dev-team"},
            {"before_create": ["policies-in-force", "quotas-counting"], **guarded},
        ),
    }
    # The hooks of offboarding stay beside them.
    assert resources["Kustomization apps/dev-team"].on_error == {"offboarding-sync"}


def test_a_quota_has_to_count_what_the_platform_itself_puts_there(config):
    home, further = (
        {name: set(keys) for name, keys in counted("dev-team", namespace, tenant, config.tenancy).items()}
        for tenant in config.tenants.values()
        for namespace in tenant.namespace_names
    )

    assert home == {"dev-team-flux-objects": FLUX_OBJECTS, "dev-team-objects": OBJECTS | {"count/secrets"}}
    assert further == {"dev-team-objects": OBJECTS}


def test_an_object_waits_for_the_quotas_of_its_own_namespace_and_all_of_them_once(config):
    quotas = Quotas(never="apps-jobs")
    ends = []

    async def program():
        hooks = QuotaHooks(quotas, config.tenants, config.tenancy)
        binding: Any = hooks.of({"kind": "Secret", "metadata": {"namespace": "apps"}})
        steps = [step(namespace=namespace) for namespace in ("apps", "apps", "apps-jobs", "apps-jobs")]
        ends.extend(
            await asyncio.gather(*(binding.before_create[0].callback(each) for each in steps), return_exceptions=True)
        )

    run(program)

    assert [str(end) for end in ends] == ["None", "None", *["has not begun to count in apps-jobs"] * 2]
    assert sorted(quotas.asked) == [
        ("apps", "dev-team-flux-objects"),
        ("apps", "dev-team-objects"),
        ("apps-jobs", "dev-team-objects"),
    ]


def test_objects_elsewhere_wait_for_no_quota(config):
    found = []

    def program():
        hooks = QuotaHooks(Quotas(), config.tenants, config.tenancy)
        found.append(hooks.of({"kind": "RoleBinding", "metadata": {"namespace": "flux-system"}}).before_create)

    run(program)

    assert found == [None]


def test_a_wait_needs_none_of_the_threads_in_which_resources_are_registered():
    """Each registration holds one until its step is done; were they all held, a hook would wait for itself."""

    registered: Future[None] = Future()

    async def wait():
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(max_workers=1))
        registering = loop.run_in_executor(None, registered.result)
        try:
            return await asyncio.wait_for(in_thread(lambda: "ready"), timeout=10)
        finally:
            registered.set_result(None)
            await registering

    assert asyncio.run(wait()) == "ready"
