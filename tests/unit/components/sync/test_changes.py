"""What an update changes, as the engine reports it, and which syncs that concerns."""

import asyncio
from typing import Any

import pulumi
import pytest
from recorded_program import run
from sample_changes import changed

from flux_tenancy.components.installs.flux.component import PlatformSync
from flux_tenancy.components.plan import register
from flux_tenancy.components.sync.progress import PLATFORM_TYPE, Changes, watch_changes
from flux_tenancy.components.vocabulary.names import PLATFORM_META, TENANT_LABEL

NAMES = {"dev-team", "ops-team", PLATFORM_META.name}


def concerned(*reports: pulumi.ResourceHookArgs) -> set[str]:
    changes = Changes()
    for each in reports:
        changes.note(each)
    return {name for name in NAMES if changes.concern(name)}


@pytest.mark.parametrize(
    ("report", "names"),
    [
        (changed("Secret", "key", "apps", {TENANT_LABEL: "dev-team"}), {"dev-team"}),
        (changed("Secret", "key", "flux-system", parents=f"{PLATFORM_TYPE}$"), {PLATFORM_META.name}),
        # A policy, a role, a controller.
        (changed("ValidatingPolicy", "allowed-sources"), NAMES),
        (changed("Deployment", "kustomize-controller", "flux-system", {"app": "kustomize-controller"}), NAMES),
    ],
)
def test_a_change_concerns_the_sync_that_it_belongs_to_or_all_syncs(report, names):
    assert concerned(report) == names


def test_without_a_change_no_sync_is_concerned():
    assert concerned() == set()


@pytest.mark.parametrize(
    ("generations", "renewed"),
    # Created; with another spec; with only other labels.
    [((None, 1), True), ((1, 2), True), ((2, 2), False)],
)
def test_an_object_with_a_new_generation_is_reconciled_without_a_request(generations, renewed):
    changes = Changes()
    changes.note(changed("Kustomization", "dev-team", "apps", {TENANT_LABEL: "dev-team"}, generations))

    assert changes.renewed("Kustomization", "apps", "dev-team") is renewed
    assert not changes.renewed("GitRepository", "apps", "dev-team")


class Hook(pulumi.ResourceHook):
    """A hook that is not registered with an engine."""

    def __init__(self, name: str, func: Any, opts: pulumi.ResourceHookOptions) -> None:
        self.name, self.callback, self.opts, self.options = name, func, opts, opts
        self._registered = asyncio.get_event_loop().create_future()
        self._registered.set_result(None)


def test_the_engine_reports_all_objects_but_definitions_and_errors_of_the_hook_are_ignored():
    hooks: list[Hook] = []

    def made(*args: Any) -> Hook:
        hooks.append(Hook(*args))
        return hooks[0]

    def program():
        watch_changes(made)
        for version, kind in (("v1", "Namespace"), ("apiextensions.k8s.io/v1", "CustomResourceDefinition")):
            register({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}}, pulumi.ResourceOptions())

    registered = run(program)

    assert registered["Namespace x"].hooks == {"after_create": ["changes"], "after_update": ["changes"]}
    assert registered["CustomResourceDefinition x"].hooks == {}
    assert [hook.options.ignore_errors for hook in hooks] == [True]
    assert [hook.options.on_dry_run for hook in hooks] == [False]


def test_the_platforms_own_sync_is_recognized_by_its_type():
    def program():
        pulumi.ComponentResource.__init__(platform := object.__new__(PlatformSync), PLATFORM_TYPE, "platform")
        assert isinstance(platform, PlatformSync)

    assert run(program)["PlatformSync platform"].type == PLATFORM_TYPE
