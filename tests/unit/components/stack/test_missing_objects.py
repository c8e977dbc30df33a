"""Objects that the state has and the cluster has not, as after a destroy that was killed: looked for only then."""

import pytest
from sample_stack import load

from flux_tenancy.components.cluster.client import ClusterFacts, collection_of
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.stack.cluster.deletions import missing_objects
from flux_tenancy.components.stack.plan import stack_plan

NAMESPACE = "kubernetes:core/v1:Namespace"
SYNC = "kubernetes:kustomize.toolkit.fluxcd.io/v1:Kustomization"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
ROLE = "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole"
SYNCS = "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations"


def entry(kind, name, namespace=None):
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {(kind, f"{namespace}/{name}" if namespace else name): {"metadata": metadata}}


ALL = {
    ("pulumi:providers:kubernetes", "cluster"): {"clusterIdentifier": "this"},
    ("kubernetes:helm.sh/v3:Release", "kyverno"): {"name": "kyverno"},
    **entry(NAMESPACE, "flux-system"),
    **entry(NAMESPACE, "apps"),
    **entry(DEPLOYMENT, "source-controller", "flux-system"),
    **entry(ROLE, "flux-tenancy-tenant"),
    **entry(SYNC, "dev-team", "apps"),
}
THERE = {
    "/api/v1/namespaces": {"flux-system", "apps"},
    "/apis/apps/v1/deployments": {"flux-system/source-controller"},
    "/apis/rbac.authorization.k8s.io/v1/clusterroles": {"flux-tenancy-tenant"},
    SYNCS: {"apps/dev-team"},
}


@pytest.fixture
def config(tmp_path):
    return load(tmp_path, tenants={"dev-team": {}})


def found(config, recorded=None, going=(), without=(), unreadable=(), refreshed=False):
    """The problems if these objects are missing in the cluster, and the paths that were read."""
    there = {path: names - set(without) for path, names in THERE.items()}
    facts = ClusterFacts("this", "v1.36.3", dict.fromkeys(there["/api/v1/namespaces"], {}), frozenset(going))
    syncs = [
        {"kind": "Kustomization", "metadata": dict(zip(("namespace", "name"), name.split("/"), strict=True))}
        for name in there[SYNCS]
    ]
    asked: list[str] = []

    def names_at(path):
        asked.append(path)
        return None if path in unreadable else there.get(path, set())

    state = State(ALL if recorded is None else recorded)
    problems = missing_objects(
        config,
        stack_plan(config, "staging"),
        facts,
        state,
        syncs,
        names_at,
        "Pulumi.staging.yaml",
        refreshed=refreshed,
    )
    return problems, asked


def test_an_unchanged_stack_reads_nothing_more(config):
    assert found(config) == ([], [])


def test_a_namespace_of_a_tenant_that_is_gone_is_missing_with_what_was_in_it(config):
    [problem], _ = found(config, without={"apps", "apps/dev-team"})

    assert problem.code == "FT-CLU-113"
    assert "2 of the objects" in problem.message and "(Kustomization apps/dev-team, Namespace apps)" in problem.message


def test_a_namespace_that_is_gone_alone_is_missing(config):
    """As after an offboarding that was held until somebody removed the finalizers, of a tenant that is listed again."""
    recorded = {key: outputs for key, outputs in ALL.items() if key[0] != SYNC}

    [problem], _ = found(config, recorded, without={"apps"})

    assert "(Namespace apps)" in problem.message


def test_a_missing_sync_makes_it_check_all_objects(config):
    gone = {"apps/dev-team", "flux-tenancy-tenant", "flux-system/source-controller"}

    [problem], asked = found(config, without=gone)

    assert (problem.path, problem.code) == ("cluster", "FT-CLU-113")
    assert problem.message.startswith("3 ")
    missing = "ClusterRole flux-tenancy-tenant, Deployment flux-system/source-controller, Kustomization apps/dev-team"
    assert f"({missing})" in problem.message
    assert sorted(asked) == sorted(THERE)


def test_after_a_refresh_the_engine_knows_what_is_missing(config):
    gone = {"apps/dev-team", "flux-tenancy-tenant", "flux-system/source-controller"}

    assert found(config, without=gone, refreshed=True) == ([], [])


def test_so_does_a_sync_that_is_not_in_the_state(config):
    """Of a new tenant, or of one whose sync is the last that was recorded as deleted."""
    recorded = {key: outputs for key, outputs in ALL.items() if key[0] != SYNC}

    assert found(config, recorded)[0] == []
    [problem], _ = found(config, recorded, without={"flux-system/source-controller"})
    assert "(Deployment flux-system/source-controller)" in problem.message


def test_what_goes_with_a_namespace_of_the_platform_is_reported_as_that_namespace(config):
    assert found(config, going=["flux-system"], without={"apps/dev-team"}) == ([], [])


def test_objects_of_an_offboarded_tenant_do_not_count_as_missing(config):
    left = entry(NAMESPACE, "tools") | entry(SYNC, "ops-team", "tools")

    assert found(config, ALL | left)[0] == []


def test_the_sync_of_a_tenant_that_is_leaving_is_not_missing(tmp_path):
    """Also if the update that deleted it was killed before it was recorded."""
    leaving = load(tmp_path, tenants={"dev-team": {"state": "leaving"}})

    assert found(leaving, without={"apps/dev-team"}) == ([], [])
    assert found(leaving, without={"apps", "apps/dev-team"}) == ([], [])


def test_nothing_is_missing_in_another_or_a_new_cluster(config):
    other = {("pulumi:providers:kubernetes", "cluster"): {"clusterIdentifier": "other"}}

    assert found(config, ALL | other, without={"apps/dev-team"}) == ([], [])
    assert found(config, {}, without={"apps/dev-team"}) == ([], [])


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("kubernetes:core/v1:Secret", "/api/v1/secrets"),
        ("kubernetes:networking.k8s.io/v1:NetworkPolicy", "/apis/networking.k8s.io/v1/networkpolicies"),
        ("kubernetes:networking.k8s.io/v1:IngressClass", "/apis/networking.k8s.io/v1/ingressclasses"),
        ("kubernetes:helm.sh/v3:Release", None),
        ("pulumi:providers:kubernetes", None),
        ("flux-tenancy:index:Tenant", None),
    ],
)
def test_each_type_has_one_path(kind, path):
    assert collection_of(kind) == path


def test_a_kind_that_a_preview_may_not_read_is_taken_for_complete(config):
    without = {"flux-system/source-controller", "apps/dev-team"}

    [problem], _ = found(config, without=without, unreadable={"/apis/apps/v1/deployments"})

    assert "Kustomization apps/dev-team" in problem.message
    assert "source-controller" not in problem.message
