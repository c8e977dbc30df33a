"""Hooks that make a step wait for the cluster: which objects have them, and that waiting blocks no other thread."""

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, cast

import pulumi
import pytest
from kubernetes.client import ApiClient
from recorded_program import run
from sample_plan import planned_tenants, tenant_args
from sample_stack import load, removal

from flux_tenancy.components.cluster.hooks import hooked, in_thread, ready_hook
from flux_tenancy.components.git.source import git_access
from flux_tenancy.components.stack.platform import Guard
from flux_tenancy.components.tenant.component import Tenant
from flux_tenancy.components.tenant.quotas import NotCounting, QuotaHooks, counted

API = cast(ApiClient, None)
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


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The quotas that were waited for in a cluster that counts immediately, except in the namespace `apps-jobs`."""
    quotas: list[tuple[str, str]] = []

    def wait(_: object, namespace: str, name: str, __: object) -> None:
        quotas.append((namespace, name))
        if namespace == "apps-jobs":
            raise NotCounting(f"has not begun to count in {namespace}")

    monkeypatch.setattr("flux_tenancy.components.tenant.quotas.wait_until_counting", wait)
    return quotas


@pytest.fixture
def config(tmp_path):
    return load(tmp_path, bases={"dev-team": BASE}, tenants={"dev-team": {}})


def step(**metadata: Any) -> pulumi.ResourceHookArgs:
    return pulumi.ResourceHookArgs("", "", "", "", new_inputs={"metadata": metadata})


def test_changes_of_a_tenant_wait_until_policies_are_enforced_and_quotas_count(config):
    def program():
        in_force = ready_hook("policies-in-force", lambda: pytest.fail("nothing is created"))
        waiting = hooked(Guard([], [in_force]).waiting, QuotaHooks(API, planned_tenants(config)).of)
        access = git_access(config.git_sources)
        args = tenant_args(config.tenants["dev-team"], access, config.tenancy, removal(), options=waiting)
        Tenant("dev-team", args)

    resources = run(program)
    guarded = {"before_update": ["policies-in-force"]}
    quotas = {name for name in resources if name.startswith("ResourceQuota ")}
    namespaces = {"Namespace apps", "Namespace apps-jobs"}
    # Neither is what quotas count.
    uncounted = namespaces | {name for name in resources if name.startswith("LimitRange ")}

    assert len(quotas) == 4
    assert {name: resource.hooks for name, resource in resources.items()} == {
        "Tenant dev-team": {},
        **dict.fromkeys(uncounted, {"before_create": ["policies-in-force"], **guarded}),
        **dict.fromkeys(quotas, {"before_create": ["policies-in-force", "quotas-countable"], **guarded}),
        **dict.fromkeys(
            resources.keys() - quotas - uncounted - {"Tenant dev-team"},
            {"before_create": ["policies-in-force", "quotas-counting"], **guarded},
        ),
    }
    # The hooks of offboarding stay in addition.
    assert resources["Kustomization apps/dev-team"].on_error == {"offboarding-sync"}


def test_a_quota_has_to_count_the_platforms_own_objects(config):
    home, further = (
        {name: set(keys) for name, keys in quotas.items()}
        for planned in planned_tenants(config)
        for quotas in counted(planned).values()
    )

    assert home == {"dev-team-flux-objects": FLUX_OBJECTS, "dev-team-objects": OBJECTS | {"count/secrets"}}
    assert further == {"dev-team-objects": OBJECTS}


def test_an_object_waits_once_for_all_quotas_of_its_own_namespace(config, asked):
    ends = []

    async def program():
        hooks = QuotaHooks(API, planned_tenants(config))
        binding: Any = hooks.of({"kind": "Secret", "metadata": {"namespace": "apps"}})
        steps = [step(namespace=namespace) for namespace in ("apps", "apps", "apps-jobs", "apps-jobs")]
        ends.extend(
            await asyncio.gather(*(binding.before_create[0].callback(each) for each in steps), return_exceptions=True)
        )

    run(program)

    assert [str(end) for end in ends] == ["None", "None", *["has not begun to count in apps-jobs"] * 2]
    assert sorted(asked) == [
        ("apps", "dev-team-flux-objects"),
        ("apps", "dev-team-objects"),
        ("apps-jobs", "dev-team-objects"),
    ]


def test_objects_outside_tenants_namespaces_wait_for_no_quota(config):
    found = []

    def program():
        hooks = QuotaHooks(API, planned_tenants(config))
        found.append(hooks.of({"kind": "RoleBinding", "metadata": {"namespace": "flux-system"}}).before_create)

    run(program)

    assert found == [None]


def test_waiting_does_not_block_the_threads_that_register_resources():
    """Each registration holds a thread until its step is done. If all were held, a hook would wait for itself."""

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
