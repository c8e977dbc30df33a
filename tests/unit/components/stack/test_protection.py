"""Protection: which resources the engine refuses to delete, and updates that the program refuses before it."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest
from recorded_program import run
from sample_release import release
from sample_stack import CLUSTER, FLUX, KYVERNO

from flux_tenancy.components.cluster.client import ClusterFacts
from flux_tenancy.components.cluster.component import Cluster, ClusterArgs, ProtectedResource, protect, protected_before
from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.plan import register
from flux_tenancy.components.stack.cluster.deletions import deletion_problems, is_protected, protected_resources
from flux_tenancy.components.stack.config import StackConfig

THIS, OTHER = "the-cluster", "another-cluster"
FILE = "Pulumi.production.yaml"
NAMESPACE, DEFINITION = "kubernetes:core/v1:Namespace", "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"
RELEASE = "kubernetes:helm.sh/v3:Release"
OF_FLUX = {
    (NAMESPACE, "flux-system"),
    *((DEFINITION, each["metadata"]["name"]) for each in release() if each["kind"] == "CustomResourceDefinition"),
}
APPS, TOOLS = (NAMESPACE, "apps"), (NAMESPACE, "tools")
TWO = {"dev-team": ["apps"], "ops-team": ["tools"]}
OF_KYVERNO = {(NAMESPACE, "kyverno"), (RELEASE, "kyverno")}


def config(
    *,
    tenants: dict[str, list[str]] | None = None,
    leaving: str = "",
    cluster: dict[str, Any] | None = None,
    **sections: Any,
) -> StackConfig:
    """A stack with these namespaces by tenant."""
    listed: dict[str, Any] = {
        name: {"namespaces": [{"name": each} for each in namespaces], "source": {"url": "https://git.example.com/a/b"}}
        for name, namespaces in ({"dev-team": ["apps"]} if tenants is None else tenants).items()
    }
    if leaving:
        listed[leaving]["state"] = "leaving"
    return StackConfig.model_validate(
        {"cluster": CLUSTER | (cluster or {}), "flux": FLUX, "tenants": listed} | sections
    )


def applied(protected: set[tuple[str, str]], uid: str = THIS, **labels: str) -> State:
    """The state after an update that has protected these resources; `labels` has the tenants of namespaces."""
    outputs: dict[str, Any] = {"uid": uid}
    if protected:
        outputs["protected"] = [f"{kind} {name}" for kind, name in protected]
    resources: dict[tuple[str, str], dict[str, Any]] = {
        resource: {"metadata": {"labels": {"toolkit.fluxcd.io/tenant": labels[resource[1]]}}}
        if resource[1] in labels
        else {"metadata": {}}
        for resource in protected
    }
    cluster = {
        ("flux-tenancy:index:Cluster", "cluster"): outputs,
        ("pulumi:providers:kubernetes", "cluster"): {"clusterIdentifier": uid},
    }
    return State(resources | cluster)


def facts(*namespaces: str) -> ClusterFacts:
    return ClusterFacts(THIS, "v1.36.3", dict.fromkeys(namespaces, {}))


def protected(stack: str = "production", state: State | None = None, found: ClusterFacts | None = None, **keys: Any):
    return protected_resources(config(**keys), release(), stack, found or facts(), state or State({}))


def refused(state: State, **keys: Any) -> list[Problem]:
    return list(deletion_problems(config(**keys), release(), facts(), state, FILE))


def test_a_production_stack_protects_all_its_namespaces_and_definitions() -> None:
    assert len(OF_FLUX) > 1
    assert protected() == OF_FLUX | {APPS}
    assert protected(kyverno=KYVERNO) == OF_FLUX | OF_KYVERNO | {APPS}
    assert protected(tenants={"dev-team": ["apps", "jobs"], "ops-team": ["tools"]}) == OF_FLUX | {
        APPS,
        TOOLS,
        (NAMESPACE, "jobs"),
    }


def test_other_stacks_protect_nothing_by_default() -> None:
    assert protected("staging") == set()


@pytest.mark.parametrize(
    ("stack", "cluster", "protects"),
    [
        ("staging", {"protect": True}, True),
        ("staging", {"production": True}, True),
        ("production", {"protect": False}, False),
        ("production", {"production": False}, False),
        ("production", {"production": False, "protect": True}, True),
    ],
)
def test_the_key_overrides_the_default(stack: str, cluster: dict[str, Any], protects: bool) -> None:
    assert is_protected(config(cluster=cluster), stack) is protects
    assert bool(protected(stack, cluster=cluster)) is protects


def test_the_namespaces_of_a_tenant_that_is_leaving_are_not_protected() -> None:
    assert protected(tenants=TWO, leaving="ops-team") == OF_FLUX | {APPS}


def test_a_tenant_that_has_left_may_be_removed_and_one_that_is_leaving_keeps_its_namespaces() -> None:
    before, after = OF_FLUX | {APPS, TOOLS}, OF_FLUX | {APPS}

    assert refused(applied(before, apps="dev-team", tools="ops-team"), tenants=TWO, leaving="ops-team") == []
    assert refused(applied(after, apps="dev-team")) == []


def test_nothing_is_protected_while_everything_moves_to_another_cluster() -> None:
    assert protected(state=applied(OF_FLUX | {APPS}, OTHER)) == set()
    assert protected(state=applied(OF_FLUX | {APPS}, THIS), found=facts("apps")) == OF_FLUX | {APPS}


def test_an_update_that_deletes_nothing_protected_is_accepted() -> None:
    state = applied(OF_FLUX | OF_KYVERNO | {APPS}, apps="dev-team")

    assert refused(state, kyverno=KYVERNO) == []
    assert refused(State({})) == []


def test_removing_a_namespace_of_a_tenant_is_refused() -> None:
    [problem] = refused(applied(OF_FLUX | {APPS, TOOLS}, apps="dev-team", tools="dev-team"))

    assert (problem.path, problem.code) == ("tenants.dev-team.namespaces", "FT-CLU-116")


def test_what_would_be_deleted_of_flux_and_kyverno_is_refused_all_at_once() -> None:
    removed = (DEFINITION, "widgets.image.toolkit.fluxcd.io")

    problems = refused(applied(OF_FLUX | OF_KYVERNO | {APPS, removed}, apps="dev-team"))

    assert {problem.code for problem in problems} == {"FT-CLU-116"}
    assert [problem.path for problem in problems] == ["flux", "kyverno", "kyverno"]
    assert "widgets.image.toolkit.fluxcd.io is protected" in problems[0].message
    assert "every object of its kind" in problems[0].message


def test_protection_holds_in_the_update_that_ends_it() -> None:
    """The engine still has the flag in its state, and would refuse the deletion as the update's last step."""
    state = applied(OF_FLUX | {APPS, TOOLS}, apps="dev-team", tools="dev-team")

    [problem] = refused(state, cluster={"protect": False})

    assert problem.code == "FT-CLU-116"


def test_what_was_recorded_and_never_created_may_be_removed() -> None:
    state = applied(OF_FLUX | {APPS})
    created = State({key: value for key, value in state.resources.items() if key != APPS})

    assert refused(created, tenants={}) == []


def test_what_another_cluster_had_may_be_removed() -> None:
    assert refused(applied(OF_FLUX | {APPS}, OTHER), tenants={}) == []


def test_the_engine_is_asked_to_protect_exactly_these_resources() -> None:
    def program() -> None:
        protect({ProtectedResource(*APPS)})
        for kind, name in (("Namespace", "apps"), ("Namespace", "tools"), ("ConfigMap", "apps")):
            register({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}, pulumi.ResourceOptions())

    found = run(program)

    assert {name for name, resource in found.items() if resource.protected} == {"Namespace apps"}
    assert len(found) == 3


@pytest.mark.parametrize("resources", [set(), {APPS, (RELEASE, "kyverno")}])
def test_what_is_protected_is_recorded_for_the_next_update(resources: set[tuple[str, str]], monkeypatch: Any) -> None:
    recorded: dict[str, Any] = {}
    monkeypatch.setattr(Cluster, "register_outputs", lambda _, outputs: recorded.update(outputs))

    run(
        lambda: (
            Cluster("cluster", ClusterArgs(config().cluster, THIS, {ProtectedResource(*each) for each in resources}))
            and None
        )
    )

    assert ("protected" in recorded) is bool(resources)
    state = State({("flux-tenancy:index:Cluster", "cluster"): {key: recorded[key] for key in recorded if key != "uid"}})
    assert protected_before(state) == resources
