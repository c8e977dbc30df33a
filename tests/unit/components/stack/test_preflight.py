"""Before the first resource: the right cluster, of a version that Flux supports, with free names for the tenants."""

from typing import Any

import pytest
import yaml
from loopback import closed_port
from sample_sources import with_deploy_key
from sample_stack import CLUSTER, FLUX, load

from flux_tenancy.components.cluster.client import ClusterFacts
from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.installs.kyverno import KYVERNO
from flux_tenancy.components.stack.cluster.conflicts import foreign_product, held_namespaces, terminating
from flux_tenancy.components.stack.cluster.preflight import cluster_problems, existing_only, missing_operator, preflight
from flux_tenancy.components.stack.files.stack_file import StackFile
from flux_tenancy.components.tenant.leaving.remaining_objects import Held, NamespaceHolds

THIS = "11111111-1111-1111-1111-111111111111"
OTHER = "22222222-2222-2222-2222-222222222222"
TENANT = "toolkit.fluxcd.io/tenant"


def state(uid=None, namespaces=()):
    """The state of an earlier update: the cluster, and namespaces by the names of their resources."""
    clusters = {("flux-tenancy:index:Cluster", "cluster"): {"uid": uid}} if uid else {}
    return State(clusters | {("kubernetes:core/v1:Namespace", name): {} for name in namespaces})


def found(project, **facts):
    """The path and the code of each problem."""
    return [(problem.path, problem.code) for problem in problems(project, **facts)]


def problems(project, *, uid=THIS, version="v1.36.3", namespaces=None, recorded=None, own=(), **sections):
    config = load(project, tenants={"dev-team": {}}, **sections)
    facts = ClusterFacts(uid, version, namespaces or {})
    return cluster_problems(config, facts, state(recorded, own), "Pulumi.staging.yaml")


@pytest.mark.parametrize(
    ("expected", "recorded"), [(None, None), (THIS, None), (None, THIS), (THIS, THIS), (THIS, OTHER)]
)
def test_the_cluster_of_the_stack_is_accepted_and_a_configured_uid_takes_precedence_over_the_state(
    tmp_path, expected, recorded
):
    assert found(tmp_path, cluster=CLUSTER | {"uid": expected}, recorded=recorded) == []


@pytest.mark.parametrize("recorded", [None, OTHER, THIS])
def test_a_cluster_other_than_the_configured_one_is_refused(tmp_path, recorded):
    [problem] = problems(tmp_path, cluster=CLUSTER | {"uid": THIS}, uid=OTHER, recorded=recorded)

    assert (problem.file, problem.path, problem.code) == ("Pulumi.staging.yaml", "cluster.uid", "FT-CLU-102")
    assert THIS in problem.message and OTHER in problem.message


def test_a_cluster_other_than_that_of_the_last_update_is_refused(tmp_path):
    [problem] = problems(tmp_path, uid=OTHER, recorded=THIS)

    assert (problem.path, problem.code) == ("cluster", "FT-CLU-102")
    assert THIS in problem.message and OTHER in problem.message


FLUX_2_9 = {"flux": FLUX | {"version": "2.9.6"}, "policies": {"engine": "none"}}
FLUX_2_10 = {"flux": FLUX | {"version": "2.10.1"}}
SET_LANES = {"flux": FLUX | {"lanes": {"tenants": {}}, "setLanes": True}}
SET_ACCOUNTS = {"flux": FLUX | {"setAccounts": True}}
POD_DEFAULTS = {"policies": {"podDefaults": "restricted"}}


@pytest.mark.parametrize(
    ("sections", "key", "version", "needed"),
    [
        *(
            (FLUX_2_9, "flux.version", version, "1.33.0")
            for version in ("v1.32.9", "v1.32.0-eks-1234", "v1.9.0", "v0.99.0")
        ),
        (FLUX_2_10, "flux.version", "v1.33.9", "1.35.2"),
        (FLUX_2_10, "flux.version", "v1.35.1", "1.35.2"),
        (FLUX_2_10, "flux.version", "v1.36.0-eks-1234", "1.36.1"),
        (FLUX_2_10, "flux.version", "v1.36", "1.36.1"),
        # What changes objects of tenants.
        (SET_LANES, "flux.setLanes", "v1.35.4", "1.36"),
        (SET_ACCOUNTS, "flux.setAccounts", "v1.35.4", "1.36"),
        (POD_DEFAULTS, "policies.podDefaults", "v1.35.4", "1.36"),
    ],
)
def test_a_cluster_too_old_is_refused(tmp_path, sections, key, version, needed):
    [problem] = problems(tmp_path, version=version, **sections)

    assert (problem.path, problem.code) == (key, "FT-CLU-103")
    assert f"needs Kubernetes {needed} or later" in problem.message and version in problem.message


@pytest.mark.parametrize(
    ("sections", "versions"),
    [
        (FLUX_2_9, ["v1.33.0", "v1.33.4-gke.100", "v1.36.3", "v2.0.0"]),
        (FLUX_2_10, ["v1.35.2", "v1.36.1-gke.100", "v1.37.0", "v1.38.0"]),
        (SET_LANES, ["v1.36.1"]),
        (SET_ACCOUNTS, ["v1.36.1"]),
        (POD_DEFAULTS, ["v1.36.1"]),
    ],
)
def test_a_cluster_of_a_supported_version_is_accepted(tmp_path, sections, versions):
    for version in versions:
        assert found(tmp_path, version=version, **sections) == []


@pytest.mark.parametrize(
    ("operator", "definitions", "namespaces", "refused"),
    [
        (True, {"podmonitors", "prometheusrules"}, {"monitoring"}, []),
        (True, {"podmonitors"}, {"monitoring"}, [("monitoring.operator", "FT-CLU-131")]),
        (True, (), (), [("monitoring.operator", "FT-CLU-131"), ("monitoring.namespace", "FT-CLU-108")]),
        (False, (), (), []),
    ],
)
def test_the_objects_of_monitoring_need_the_operator_and_a_namespace(
    tmp_path, operator, definitions, namespaces, refused
):
    config = load(tmp_path, tenants={"dev-team": {}}, monitoring={"operator": operator})
    facts = ClusterFacts(THIS, "v1.36.3", dict.fromkeys(namespaces, {}))

    def find(manifest):
        return manifest if manifest["metadata"]["name"].partition(".")[0] in definitions else None

    found = missing_operator(config, facts, find, "Pulumi.staging.yaml")

    assert [(each.path, each.code) for each in found] == refused
    assert missing_operator(existing_only(config), facts, find, "Pulumi.staging.yaml") == []


@pytest.mark.parametrize("labels", [{}, {TENANT: "ops-team"}, {"team": "dev-team"}])
def test_a_namespace_of_somebody_else_is_not_taken_over(tmp_path, labels):
    [problem] = problems(tmp_path, namespaces={"apps": labels})

    assert (problem.path, problem.code) == ("tenants.dev-team", "FT-CLU-107")
    both = "toolkit.fluxcd.io/tenant=dev-team app.kubernetes.io/managed-by=flux-tenancy"
    assert f"`kubectl label namespace apps --overwrite {both}`" in problem.message


def test_a_tenants_own_namespace_and_unrelated_ones_are_accepted(tmp_path):
    assert found(tmp_path, namespaces={"apps": {TENANT: "dev-team"}, "default": {}, "others": {TENANT: "x"}}) == []


@pytest.mark.parametrize("own", [(), ("apps", "flux")])
def test_a_flux_that_somebody_else_has_installed_is_refused(tmp_path, own):
    assert found(tmp_path, namespaces={"flux-system": {}}, own=own) == [("flux", "FT-CLU-105")]


def test_a_flux_that_is_to_be_taken_over_is_no_problem_but_a_foreign_namespace_stays_one(tmp_path):
    namespaces: dict[str, Any] = {"flux-system": {}, "apps": {}}

    assert found(tmp_path, cluster=CLUSTER | {"adopt": True}, namespaces=namespaces) == [
        ("tenants.dev-team", "FT-CLU-107")
    ]


def test_the_stacks_own_flux_is_no_problem(tmp_path):
    assert found(tmp_path, namespaces={"flux-system": {}}, own=("flux-system",)) == []


def test_a_cluster_that_has_lost_its_flux_is_no_problem(tmp_path):
    assert found(tmp_path, own=("flux-system",)) == []


def impersonating(*namespaces):
    return FLUX | {"impersonate": [{"namespace": name, "serviceAccounts": ["applier"]} for name in namespaces]}


def test_flux_cannot_impersonate_in_a_namespace_that_does_not_exist(tmp_path):
    [problem] = problems(tmp_path, namespaces={"infra": {}}, flux=impersonating("infra", "later"))

    assert (problem.path, problem.code) == ("flux.impersonate[1].namespace", "FT-CLU-108")
    assert "'later'" in problem.message


def test_namespaces_that_the_stack_creates_need_not_exist(tmp_path):
    assert found(tmp_path, flux=impersonating("flux-system", "apps")) == []


def test_all_problems_of_a_cluster_are_reported_at_once(tmp_path):
    namespaces: dict[str, Any] = {"apps": {}, "flux-system": {}}

    assert len(found(tmp_path, uid=OTHER, recorded=THIS, version="v1.20.0", namespaces=namespaces)) == 4


def test_what_is_only_to_be_created_does_not_stop_a_destroy(tmp_path):
    """Lost namespaces and those of somebody else do not matter to it; another cluster does."""
    config = existing_only(load(tmp_path, tenants={"dev-team": {}}))
    facts = ClusterFacts(OTHER, "v1.36.3", {"flux-system": {}, "apps": {}})
    lost = ClusterFacts(THIS, "v1.36.3", {})
    recorded = state(THIS, ["apps", "apps/dev-team"])

    assert cluster_problems(config, lost, recorded, "Pulumi.staging.yaml") == []
    [problem] = cluster_problems(config, facts, recorded, "Pulumi.staging.yaml")
    assert problem.code == "FT-CLU-102"


@pytest.mark.parametrize("recorded", [THIS, OTHER])
def test_a_namespace_that_was_released_after_an_offboarding_is_no_problem(tmp_path, recorded):
    assert found(tmp_path, cluster=CLUSTER | {"uid": THIS}, recorded=recorded, own=("apps",)) == []


def test_a_cluster_that_replaces_another_has_lost_no_namespace(tmp_path):
    inside = ("apps", "apps/dev-team")

    assert found(tmp_path, cluster=CLUSTER | {"uid": THIS}, recorded=OTHER, own=inside) == []


@pytest.mark.parametrize(
    ("holds", "code", "listed"),
    [
        (NamespaceHolds("apps"), "FT-CLU-110", ""),
        (None, "FT-CLU-110", ""),
        (
            NamespaceHolds("apps", (Held("configmaps", "held", ("example.com/a",)),)),
            "FT-CLU-110",
            ":\n  configmaps held by example.com/a",
        ),
    ],
)
def test_a_namespace_that_is_being_deleted_takes_no_tenant(tmp_path, holds, code, listed):
    config = load(tmp_path, tenants={"dev-team": {}})

    [problem] = held_namespaces(config, {"apps": holds, "others": holds}, "Pulumi.staging.yaml")

    assert (problem.path, problem.code) == ("tenants.dev-team", code)
    assert "'apps'" in problem.message and f"({code}){listed}" in str(problem)


@pytest.mark.parametrize("namespace", ["flux-system", "kyverno", "capsule-system"])
def test_so_does_one_of_the_platform_whose_controllers_may_be_gone(tmp_path, namespace):
    held = Held("receivers.notification.toolkit.fluxcd.io", "platform", ("finalizers.fluxcd.io",))
    holds = {namespace: NamespaceHolds(namespace, (held,))}

    [problem] = held_namespaces(load(tmp_path, tenants={"dev-team": {}}), holds, "Pulumi.staging.yaml")

    assert (problem.path, problem.code) == ("cluster", "FT-CLU-110")
    assert str(problem).endswith("\n  receivers.notification.toolkit.fluxcd.io platform by finalizers.fluxcd.io")


def test_only_namespaces_of_tenants_that_are_or_were_listed_count_as_terminating(tmp_path):
    config = load(tmp_path, tenants={"dev-team": {}})
    gone = frozenset({"apps", "tools", "others"})
    facts = ClusterFacts(THIS, "v1.36.3", dict.fromkeys(gone, {}), gone)

    assert terminating(config, facts, state(THIS, ["tools"])) == {"apps", "tools"}


def test_namespaces_that_a_tenant_has_made_count_as_terminating_once_the_tenant_is_not_listed(tmp_path):
    config = load(tmp_path, tenants={"dev-team": {}})
    owners = {"dev-team-web": "dev-team", "tools-web": "tools", "others-web": "others"}
    labels = {name: {"capsule.clastix.io/tenant": tenant} for name, tenant in owners.items()}
    facts = ClusterFacts(THIS, "v1.36.3", labels, frozenset(owners))
    applied = State({("kubernetes:capsule.clastix.io/v1beta2:Tenant", name): {} for name in ("dev-team", "tools")})

    assert terminating(config, facts, applied) == {"tools-web"}


def test_a_missing_release_an_unreachable_cluster_and_a_missing_token_are_reported_at_once(tmp_path, monkeypatch):
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
        preflight(config, state(), StackFile("Pulumi.staging.yaml", {}), tmp_path)

    unreachable, missing, no_token = refused.value.problems
    assert unreachable.path == "cluster.kubeconfig" and server in unreachable.message
    assert missing.path == "flux.manifests.bundle" and "install.yaml" in missing.message
    assert (no_token.path, no_token.code) == ("tenants.dev-team.source.github", "FT-GIT-001")


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
        (["guard"], [WEBHOOK], WEBHOOK),
        (["kyverno"], [WEBHOOK], f"the namespace kyverno, {WEBHOOK}"),
    ],
)
def test_a_kyverno_that_somebody_else_has_installed_is_never_taken_over(namespaces, webhooks, found, marked):
    """Nor one that another stack of this program has installed."""
    cluster = with_namespaces(*namespaces, marked=namespaces if marked else [])

    for recorded in [state(), begun(OTHER), *([] if marked else [begun()])]:
        [problem] = foreign_product(
            KYVERNO, cluster, lambda: dict.fromkeys(webhooks, marked), recorded, "Pulumi.staging.yaml"
        )

        assert (problem.path, problem.code) == ("kyverno", "FT-CLU-106")
        assert f"({found})" in problem.message


def test_the_stacks_own_kyverno_and_a_cluster_without_one_are_accepted():
    file = "Pulumi.staging.yaml"

    own = state(namespaces=["kyverno"])
    assert foreign_product(KYVERNO, with_namespaces("kyverno"), lambda: {WEBHOOK: False}, own, file) == []
    # An update was killed right after it.
    assert (
        foreign_product(
            KYVERNO, with_namespaces(), lambda: {WEBHOOK: False}, State({(WEBHOOK_TYPE, WEBHOOK): {}}), file
        )
        == []
    )
    assert foreign_product(KYVERNO, with_namespaces("default"), lambda: {}, state(), file) == []


def test_a_kyverno_that_a_killed_update_has_created_belongs_to_the_stack():
    cluster = with_namespaces("kyverno", "flux-system", marked=["kyverno", "flux-system"])

    assert foreign_product(KYVERNO, cluster, lambda: {WEBHOOK: True}, begun(), "Pulumi.staging.yaml") == []


@pytest.mark.parametrize(
    ("recorded", "marked", "own"),
    [(begun(), True, True), (begun(), False, False), (begun(OTHER), True, False), (state(), True, False)],
)
def test_a_flux_that_a_killed_update_has_created_belongs_to_the_stack(tmp_path, recorded, marked, own):
    config = load(tmp_path, tenants={})
    cluster = with_namespaces("flux-system", marked=["flux-system"] if marked else [])

    assert (cluster_problems(config, cluster, recorded, "Pulumi.staging.yaml") == []) is own
