"""Before the first resource: the right cluster, of a version that Flux supports, with room for the tenants."""

from typing import Any

import pytest
import yaml
from loopback import closed_port
from sample_sources import with_deploy_key
from sample_stack import CLUSTER, FLUX, KYVERNO, load

from components.cluster.client import ClusterFacts
from components.cluster.namespace_holds import Held, NamespaceHolds
from components.config.errors import ConfigurationError
from components.engine.state import State
from components.stack.preflight import (
    cluster_problems,
    existing_only,
    foreign_kyverno,
    held_namespaces,
    preflight,
    terminating,
)

THIS = "11111111-1111-1111-1111-111111111111"
OTHER = "22222222-2222-2222-2222-222222222222"
TENANT = "toolkit.fluxcd.io/tenant"


def state(uid=None, namespaces=()):
    """What an earlier update has left: the cluster, and namespaces by the names of their resources."""
    clusters = {("flux-tenancy:index:Cluster", "cluster"): {"uid": uid}} if uid else {}
    return State(clusters | {("kubernetes:core/v1:Namespace", name): {} for name in namespaces})


def found(project, *, uid=THIS, version="v1.36.3", namespaces=None, recorded=None, own=(), **sections):
    config = load(project, tenants={"dev-team": {}}, **sections)
    facts = ClusterFacts(uid, version, namespaces or {})
    problems = cluster_problems(config, facts, state(recorded, own), "Pulumi.staging.yaml")
    return [str(problem) for problem in problems]


@pytest.mark.parametrize(
    ("expected", "recorded"), [(None, None), (THIS, None), (None, THIS), (THIS, THIS), (THIS, OTHER)]
)
def test_the_cluster_that_the_stack_names_is_taken_and_a_given_uid_outweighs_the_recorded_one(
    tmp_path, expected, recorded
):
    assert found(tmp_path, cluster=CLUSTER | {"uid": expected}, recorded=recorded) == []


@pytest.mark.parametrize("recorded", [None, OTHER, THIS])
def test_another_cluster_than_the_given_one_is_refused(tmp_path, recorded):
    assert found(tmp_path, cluster=CLUSTER | {"uid": THIS}, uid=OTHER, recorded=recorded) == [
        f"Pulumi.staging.yaml: cluster.uid: expects the cluster {THIS}, but the kubeconfig leads to {OTHER}; correct "
        "cluster.kubeconfig or cluster.context, or the uid if the cluster was replaced"
    ]


def test_another_cluster_than_the_one_of_the_last_update_is_refused(tmp_path):
    assert found(tmp_path, uid=OTHER, recorded=THIS) == [
        f"Pulumi.staging.yaml: cluster: this stack was applied to the cluster {THIS}, but the kubeconfig leads to "
        f"{OTHER}; correct cluster.kubeconfig or cluster.context, or set cluster.uid to the new one if the cluster was "
        "replaced"
    ]


@pytest.mark.parametrize("version", ["v1.32.9", "v1.32.0-eks-1234", "v1.9.0", "v0.99.0"])
def test_a_cluster_too_old_for_flux_is_refused(tmp_path, version):
    assert found(tmp_path, version=version, policies={"engine": "none"}) == [
        f"Pulumi.staging.yaml: flux.version: Flux 2.9.5 needs Kubernetes 1.33 or later, the cluster runs {version}; "
        "upgrade the cluster or choose an older Flux"
    ]


@pytest.mark.parametrize("engine", ["native", "both"])
def test_a_cluster_that_cannot_evaluate_policies_itself_is_refused(tmp_path, engine):
    problems = found(tmp_path, version="v1.29.4", policies={"engine": engine}, kyverno=KYVERNO)

    assert (
        f"Pulumi.staging.yaml: policies.engine: {engine} needs ValidatingAdmissionPolicies, which Kubernetes has since "
        "1.30; the cluster runs v1.29.4; upgrade it, or set policies.engine to kyverno"
    ) in problems


@pytest.mark.parametrize("engine", ["none", "kyverno"])
def test_a_cluster_that_evaluates_no_policy_itself_may_be_older(tmp_path, engine):
    problems = found(tmp_path, version="v1.29.4", policies={"engine": engine}, kyverno=KYVERNO)

    assert not [problem for problem in problems if "policies.engine" in problem]


@pytest.mark.parametrize("version", ["v1.33.0", "v1.33.4-gke.100", "v1.36.3", "v2.0.0"])
def test_a_cluster_that_flux_supports_is_taken(tmp_path, version):
    assert found(tmp_path, version=version) == []


@pytest.mark.parametrize("labels", [{}, {TENANT: "ops-team"}, {"team": "dev-team"}])
def test_a_namespace_of_somebody_else_is_not_taken_over(tmp_path, labels):
    assert found(tmp_path, namespaces={"apps": labels}) == [
        "Pulumi.staging.yaml: tenants.dev-team: the namespace 'apps' exists in the cluster and is not this tenant's; "
        "choose another name, or hand it over with `kubectl label namespace apps toolkit.fluxcd.io/tenant=dev-team`"
    ]


def test_the_tenants_own_namespace_and_those_of_nobody_here_are_no_problem(tmp_path):
    assert found(tmp_path, namespaces={"apps": {TENANT: "dev-team"}, "default": {}, "others": {TENANT: "x"}}) == []


@pytest.mark.parametrize("own", [(), ("apps", "flux")])
def test_a_flux_that_somebody_else_has_installed_is_not_fought_with(tmp_path, own):
    assert found(tmp_path, namespaces={"flux-system": {}}, own=own) == [
        "Pulumi.staging.yaml: flux: the cluster has a namespace flux-system that is not this stack's; "
        "set cluster.adopt to take it over (docs/adoption.md), or remove it"
    ]


def test_a_flux_that_is_to_be_taken_over_is_no_problem_but_a_foreign_namespace_stays_one(tmp_path):
    problems = found(tmp_path, cluster=CLUSTER | {"adopt": True}, namespaces={"flux-system": {}, "apps": {}})

    assert len(problems) == 1
    assert "the namespace 'apps' exists" in problems[0]


def test_the_stacks_own_flux_is_no_problem(tmp_path):
    assert found(tmp_path, namespaces={"flux-system": {}}, own=("flux-system",)) == []


def test_a_cluster_that_has_lost_its_flux_is_no_problem(tmp_path):
    assert found(tmp_path, own=("flux-system",)) == []


def impersonating(*namespaces):
    return FLUX | {"impersonate": [{"namespace": name, "serviceAccounts": ["applier"]} for name in namespaces]}


def test_flux_cannot_act_as_somebody_in_a_namespace_that_nobody_has_made(tmp_path):
    assert found(tmp_path, namespaces={"infra": {}}, flux=impersonating("infra", "later")) == [
        "Pulumi.staging.yaml: flux.impersonate[1].namespace: the cluster has no namespace 'later'; create it first, or "
        "let the platform's repository bring the Role together with it (docs/controller-rights.md)"
    ]


def test_the_namespaces_that_the_stack_makes_need_not_exist(tmp_path):
    assert found(tmp_path, flux=impersonating("flux-system", "apps")) == []


def test_everything_that_is_wrong_with_a_cluster_is_told_at_once(tmp_path):
    namespaces: dict[str, Any] = {"apps": {}, "flux-system": {}}

    assert len(found(tmp_path, uid=OTHER, recorded=THIS, version="v1.20.0", namespaces=namespaces)) == 5


def test_a_namespace_that_went_with_all_that_was_in_it_is_for_a_refresh(tmp_path):
    inside = ("apps", "apps/dev-team")

    assert found(tmp_path, recorded=THIS, own=inside) == [
        "Pulumi.staging.yaml: tenants.dev-team: the namespace 'apps' is gone from the cluster, with 1 of this stack's "
        "objects; if that was meant, run `pulumi refresh`, and then this again, which creates them anew"
    ]


def test_what_is_only_to_be_created_stops_no_removal(tmp_path):
    """Namespaces that are gone or somebody else's are nothing to it; another cluster is."""
    config = existing_only(load(tmp_path, tenants={"dev-team": {}}))
    facts = ClusterFacts(OTHER, "v1.36.3", {"flux-system": {}, "apps": {}})
    lost = ClusterFacts(THIS, "v1.36.3", {})
    recorded = state(THIS, ["apps", "apps/dev-team"])

    assert cluster_problems(config, lost, recorded, "Pulumi.staging.yaml") == []
    (problem,) = cluster_problems(config, facts, recorded, "Pulumi.staging.yaml")
    assert "this stack was applied to the cluster" in str(problem)


@pytest.mark.parametrize("recorded", [THIS, OTHER])
def test_a_namespace_that_was_released_after_an_offboarding_is_no_problem(tmp_path, recorded):
    assert found(tmp_path, cluster=CLUSTER | {"uid": THIS}, recorded=recorded, own=("apps",)) == []


def test_a_cluster_that_replaces_another_has_lost_nothing(tmp_path):
    inside = ("apps", "apps/dev-team")

    assert found(tmp_path, cluster=CLUSTER | {"uid": THIS}, recorded=OTHER, own=inside) == []


@pytest.mark.parametrize(
    ("holds", "told"),
    [
        (NamespaceHolds("apps"), "the namespace 'apps' is still being deleted; wait until it is gone"),
        (
            NamespaceHolds("apps", (Held("configmaps", "held", ("example.com/a",)),)),
            "the namespace 'apps' is still being deleted and held; once nothing needs these finalizers, release it, "
            "and run it again:\n  configmaps held by example.com/a: kubectl patch configmaps held -n apps ",
        ),
    ],
)
def test_a_namespace_that_is_being_deleted_takes_no_tenant(tmp_path, holds, told):
    config = load(tmp_path, tenants={"dev-team": {}})

    [problem] = held_namespaces(config, {"apps": holds, "others": holds}, "Pulumi.staging.yaml")

    assert str(problem).startswith(f"Pulumi.staging.yaml: tenants.dev-team: {told}")
    assert held_namespaces(config, {"apps": None}, "Pulumi.staging.yaml") == []


def test_only_namespaces_of_tenants_that_are_or_were_listed_are_looked_at(tmp_path):
    config = load(tmp_path, tenants={"dev-team": {}})
    gone = frozenset({"apps", "tools", "others"})
    facts = ClusterFacts(THIS, "v1.36.3", dict.fromkeys(gone, {}), gone)

    assert terminating(config, facts, state(THIS, ["tools"])) == {"apps", "tools"}


def test_a_missing_release_an_unreachable_cluster_and_a_missing_token_are_told_at_once(tmp_path, monkeypatch):
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    server = f"http://127.0.0.1:{closed_port()}"
    kubeconfig = {
        "current-context": "lab",
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "me"}}],
        "clusters": [{"name": "lab", "cluster": {"server": server}}],
        "users": [{"name": "me", "user": {}}],
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    config = load(
        tmp_path,
        flux=FLUX | {"manifests": {"bundle": "install.yaml"}},
        github={"owners": {"acme": {}}},
        tenants={"dev-team": {"source": with_deploy_key()}},
        secret_keys=("tenants",),
    )

    with pytest.raises(ConfigurationError) as refused:
        preflight(config, state(), "Pulumi.staging.yaml", tmp_path)

    assert [str(problem) for problem in refused.value.problems] == [
        f"Pulumi.staging.yaml: cluster.kubeconfig: {server} cannot be reached; is the cluster running, "
        "and may this machine reach it?",
        "Pulumi.staging.yaml: flux.manifests.bundle: install.yaml cannot be read: No such file or directory",
        "Pulumi.staging.yaml: tenants.dev-team.source.github: github.owners.acme has neither a token nor an App, and "
        "the environment has no GITHUB_TOKEN; export that, or give it one: `pulumi config set --secret --path "
        "github.owners.acme.token`",
    ]


WEBHOOK = "kyverno-policy-validating-webhook-cfg"
WEBHOOK_TYPE = "kubernetes:admissionregistration.k8s.io/v1:ValidatingWebhookConfiguration"


def with_namespaces(*names, marked=()):
    return ClusterFacts(THIS, "v1.36.3", dict.fromkeys(names, {}), marked=frozenset(marked))


def begun(uid=THIS):
    """The state of an update that was killed as soon as it had begun to create objects."""
    return State({("pulumi:providers:kubernetes", "cluster"): {"clusterIdentifier": uid}})


@pytest.mark.parametrize("marked", [False, True])
@pytest.mark.parametrize(
    ("namespaces", "webhooks", "found"),
    [
        (["kyverno"], [], "the namespace kyverno"),
        (["guard"], [WEBHOOK], f"the webhook configuration {WEBHOOK}"),
        (["kyverno"], [WEBHOOK], f"the namespace kyverno, the webhook configuration {WEBHOOK}"),
    ],
)
def test_a_kyverno_that_somebody_else_has_installed_is_never_taken_over(namespaces, webhooks, found, marked):
    """Nor one that another stack of this program has installed."""
    cluster = with_namespaces(*namespaces, marked=namespaces if marked else [])

    for recorded in [state(), begun(OTHER), *([] if marked else [begun()])]:
        [problem] = foreign_kyverno(cluster, dict.fromkeys(webhooks, marked), recorded, "Pulumi.staging.yaml")

        assert str(problem) == (
            f"Pulumi.staging.yaml: kyverno: the cluster has a Kyverno that is not this stack's ({found}), which cannot "
            "be taken over; uninstall it, or leave out kyverno"
        )


def test_the_stacks_own_kyverno_is_no_problem_and_nor_is_none():
    file = "Pulumi.staging.yaml"

    own = state(namespaces=["kyverno"])
    assert foreign_kyverno(with_namespaces("kyverno"), {WEBHOOK: False}, own, file) == []
    # Of an update that went no further.
    assert foreign_kyverno(with_namespaces(), {WEBHOOK: False}, State({(WEBHOOK_TYPE, WEBHOOK): {}}), file) == []
    assert foreign_kyverno(with_namespaces("default"), {}, state(), file) == []


def test_what_a_killed_update_has_made_without_recording_it_is_the_stacks():
    cluster = with_namespaces("kyverno", "flux-system", marked=["kyverno", "flux-system"])

    assert foreign_kyverno(cluster, {WEBHOOK: True}, begun(), "Pulumi.staging.yaml") == []


@pytest.mark.parametrize(
    ("recorded", "marked", "own"),
    [(begun(), True, True), (begun(), False, False), (begun(OTHER), True, False), (state(), True, False)],
)
def test_a_flux_that_a_killed_update_has_begun_is_the_stacks(tmp_path, recorded, marked, own):
    config = load(tmp_path, tenants={})
    cluster = with_namespaces("flux-system", marked=["flux-system"] if marked else [])

    assert (cluster_problems(config, cluster, recorded, "Pulumi.staging.yaml") == []) is own
