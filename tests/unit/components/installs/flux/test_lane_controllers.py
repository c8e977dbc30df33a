"""Lanes: the controllers of a release once more, with rights in the namespaces of their own tenants only."""

from __future__ import annotations

from typing import Any

import pytest
from sample_capsule import CAPSULE
from sample_release import names, one, release
from sample_stack import FLUX, KYVERNO, flux_config, load, refusals, tenant_config

from flux_tenancy.components.engine.state import State
from flux_tenancy.components.installs.flux.profile import StackFacts, configured, in_phases
from flux_tenancy.components.installs.flux.release import lease_of
from flux_tenancy.components.stack.plan import stack_plan
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.tenant.identity import impersonations, is_granted
from flux_tenancy.components.vocabulary.manifests import Manifest, name_of, resource_type
from flux_tenancy.components.vocabulary.names import LANE_LABEL, LANED, Controller

LANES: dict[str, Any] = {"tenants": {}, "batch": {}}
SYNC = {"source": {"url": "https://git.example.com/platform/fleet"}}
OF_LANES = [f"{controller}-{lane}" for lane in LANES for controller in LANED]


def whole_release():
    """The release in miniature, with the addresses of its servers."""
    manifests = [each for each in release() if each["kind"] not in ("NetworkPolicy", "ClusterRoleBinding")]
    for each in manifests:
        name = each["metadata"]["name"]
        if each["kind"] == "Deployment":
            events = "--events-addr=http://notification-controller.flux-system.svc.cluster.local./"
            container = each["spec"]["template"]["spec"]["containers"][0]
            container["args"] = [*container.get("args", ()), *([events] if name != "notification-controller" else [])]
            if name in ("source-controller", "source-watcher"):
                container["args"].append(f"--storage-adv-addr={name}.$(RUNTIME_NAMESPACE).svc.cluster.local.")
    every: Manifest = {"podSelector": {}}
    spec = every | {"policyTypes": ["Ingress", "Egress"], "ingress": [{"from": [every]}], "egress": [{}]}
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "allow-egress"}}
    return [*manifests, policy | {"spec": spec}]


def installed(**flux):
    return configured(whole_release(), flux_config(**flux))


def laned(**flux):
    return installed(lanes=LANES, **flux)


def pod_of(manifests, name):
    return one(manifests, "Deployment", name)["spec"]["template"]


def container_of(manifests, name):
    return pod_of(manifests, name)["spec"]["containers"][0]


def flags(manifests, name, start):
    return [each for each in container_of(manifests, name)["args"] if each.startswith(start)]


def variables(manifests, name):
    return {each["name"]: each.get("value") or each.get("valueFrom") for each in container_of(manifests, name)["env"]}


def subjects(manifest):
    return [each["name"] for each in manifest["subjects"]]


def test_a_stack_without_lanes_has_no_trace_of_them(tmp_path):
    assert "sharding" not in f"{installed()}{planned(tmp_path, {}, **RELEASES)}"
    assert installed(lanes={}) == installed()


def test_each_lane_has_its_own_source_kustomize_and_helm_controller():
    found = laned()

    assert [name for name in names(found, "Deployment") if name not in names(installed(), "Deployment")] == OF_LANES
    for name in OF_LANES:
        deployment, pod = one(found, "Deployment", name), pod_of(found, name)
        lane = name.rpartition("-")[2]
        assert deployment["spec"]["selector"]["matchLabels"] == {"app": name}
        assert pod["metadata"]["labels"].items() >= {"app": name, LANE_LABEL: lane}.items()
        assert deployment["metadata"]["labels"][LANE_LABEL] == lane
        assert flags(found, name, "--watch-label-selector") == [f"--watch-label-selector={LANE_LABEL}={lane}"]


def test_the_controllers_of_the_platform_leave_every_labelled_object_alone():
    found = laned()

    for controller in LANED:
        assert flags(found, controller, "--watch-label-selector") == [f"--watch-label-selector=!{LANE_LABEL}"]
    assert flags(found, Controller.NOTIFICATION, "--watch-label-selector") == []


def test_a_pod_with_another_selector_starts_when_the_one_before_stops():
    for controller in EVERY_RECONCILER:
        strategy = one(laned(), "Deployment", controller)["spec"]["strategy"]
        assert strategy == {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


def test_lanes_have_everything_else_of_the_platforms_controllers():
    found, theirs = laned(), "--watch-label-selector"
    mine = {name: container_of(found, name)["args"] for name in names(found, "Deployment")}
    for name in OF_LANES:
        controller, _, lane = name.rpartition("-")
        advertised = f"--storage-adv-addr={controller}"
        expected = [each.replace(advertised, f"{advertised}-{lane}") for each in mine[controller]]
        assert [each for each in mine[name] if theirs not in each] == [each for each in expected if theirs not in each]


def test_each_lane_has_an_artifact_server_that_only_its_own_controllers_are_led_to():
    found = laned()

    for lane in ("", *LANES):
        server = f"source-controller-{lane}".rstrip("-")
        assert one(found, "Service", server)["spec"]["selector"] == {"app": server}
        for controller in ("kustomize-controller", "helm-controller"):
            entry = variables(found, f"{controller}-{lane}".rstrip("-"))["SOURCE_CONTROLLER_LOCALHOST"]
            assert entry == {"secretKeyRef": {"name": "artifact-hosts", "key": server}}


def test_a_controller_of_all_lanes_reads_the_artifacts_of_all_servers():
    found = laned(components=[*Controller])

    exempt = variables(found, Controller.SOURCE_WATCHER)["NO_PROXY"]
    assert all(f"source-controller{lane}.flux-system" in exempt for lane in ("", "-tenants", "-batch"))
    assert "$(SOURCE_WATCHER_LOCALHOST):80" in variables(found, "helm-controller-batch")["NO_PROXY"]


def test_a_lane_may_have_other_resources():
    disk = {"ephemeral-storage": "6Gi"}
    limits = {"kustomize-controller": {"limits": {"memory": "300Mi"}}}
    resources = {"kustomize-controller": {"limits": {"memory": "2Gi", **disk}}}
    found = installed(resources=resources, lanes=LANES | {"batch": {"resources": limits}})

    assert container_of(found, "kustomize-controller")["resources"]["limits"] == {"memory": "2Gi", **disk}
    assert container_of(found, "kustomize-controller-tenants")["resources"]["limits"]["memory"] == "2Gi"
    assert container_of(found, "kustomize-controller-batch")["resources"]["limits"] == {"memory": "300Mi", **disk}


def test_a_lane_may_have_fewer_workers():
    lanes = {"tenants": {}, "batch": {"workers": 2}}
    given = {"kustomize-controller": ["--concurrent=8", "--requeue-dependency=5s"]}
    facts = StackFacts(kustomizations=100, helm_releases=30)
    found = configured(whole_release(), flux_config(lanes=lanes, extraArgs=given), facts)

    def workers(lane):
        return [flags(found, f"{controller}{lane}", "--concurrent=") for controller in LANED]

    assert workers("-batch") == [["--concurrent=2"]] * 3
    assert workers("-tenants") == workers("") == [[], ["--concurrent=8"], ["--concurrent=34"]]
    assert flags(found, "kustomize-controller-batch", "--requeue") == ["--requeue-dependency=5s"]


def test_pods_of_a_lane_accept_only_their_own_lane_and_the_platforms_pods():
    found = laned()
    policies = {each["metadata"]["name"]: each["spec"] for each in found if each["kind"] == "NetworkPolicy"}

    batch = {"matchLabels": {LANE_LABEL: "batch"}}
    own = {"podSelector": batch, "policyTypes": ["Ingress"], "ingress": [{"from": [{"podSelector": batch}]}]}
    assert policies["lane-batch"] == own
    platform = {"podSelector": {"matchExpressions": [{"key": LANE_LABEL, "operator": "DoesNotExist"}]}}
    assert policies["allow-egress"]["ingress"] == [{"from": [platform]}]
    assert policies["allow-egress"]["egress"] == [{}]
    events = policies["lanes"]
    assert events["podSelector"]["matchExpressions"][0]["values"] == ["notification-controller", "source-watcher"]
    assert events["ingress"][0]["from"][0]["podSelector"]["matchExpressions"][0]["operator"] == "Exists"


def test_what_a_controller_may_connect_to_holds_in_all_lanes():
    egress = {"allowed": {"helm-controller": [{"cidr": "192.0.2.0/24"}]}, "apiServer": [{"cidr": "192.0.2.1/32"}]}
    found = laned(egress=egress)

    pods = ["helm-controller", "helm-controller-tenants", "helm-controller-batch"]
    spec = one(found, "NetworkPolicy", "helm-controller-egress")["spec"]
    assert spec["podSelector"] == {"matchExpressions": [{"key": "app", "operator": "In", "values": pods}]}
    assert {"podSelector": {}} not in spec["ingress"][0]["from"]
    others = one(found, "NetworkPolicy", "allow-egress")["spec"]["podSelector"]["matchExpressions"]
    assert others == [{"key": "app", "operator": "NotIn", "values": pods}]


def test_leases_are_named_as_flux_names_them():
    # Of `GenerateID("source-controller-leader-election", "sharding.fluxcd.io/key=tenants")`.
    assert lease_of(Controller.SOURCE, "tenants") == "source-controller-leader-election-a6a55f28"


def test_in_a_namespace_only_the_lane_of_its_tenant_has_rights():
    config = flux_config(lanes=LANES, impersonate=[{"namespace": "monitoring", "serviceAccounts": ["grafana"]}])
    tenants = {
        "shop": tenant_config(namespaces=[{"name": "shop"}]),
        "jobs": tenant_config(namespaces=[{"name": "jobs"}], lane="batch"),
    }

    found = impersonations(config, tenants, TenancyConfig())

    for namespace, lane in {"shop": "-tenants", "jobs": "-batch", "monitoring": ""}.items():
        bound = {each["metadata"]["name"]: subjects(each) for each in found[namespace] if "subjects" in each}
        assert bound["flux-impersonation"] == [f"{name}-impersonator{lane}" for name in EVERY_RECONCILER]
        assert bound["flux-secrets"] == [f"source-controller-restricted{lane}", "notification-controller-restricted"]


EVERY_RECONCILER = ("kustomize-controller", "helm-controller")


def test_a_lane_writes_only_flux_objects_of_its_lane():
    found = laned()

    spec = one(found, "ValidatingAdmissionPolicy", "flux-tenancy-lanes")["spec"]
    groups = {group for rule in spec["matchConstraints"]["resourceRules"] for group in rule["apiGroups"]}
    assert groups == {f"{group}.toolkit.fluxcd.io" for group in ("source", "kustomize", "helm")}
    [condition] = spec["matchConditions"]
    assert '"system:serviceaccount:flux-system:helm-controller-impersonator-batch": "batch"' in condition["expression"]
    assert 'helm-controller-impersonator"' not in condition["expression"]
    assert one(found, "ValidatingAdmissionPolicyBinding", "flux-tenancy-lanes")["spec"]["validationActions"] == ["Deny"]
    # Before any controller of a lane runs.
    phases = in_phases(found, flux_config(lanes=LANES))
    assert spec in [each.get("spec") for each in phases.access]


OF_BATCH = {"tenants": {"dev-team": {"lane": "batch"}}}
WITH_KYVERNO = {"kyverno": KYVERNO, "policies": {"engine": "kyverno"}}


@pytest.mark.parametrize(
    ("flux", "sections", "path", "code"),
    [
        ({"lanes": {"batch": {}}}, {}, "flux.lanes", "FT-CFG-861"),
        ({"lanes": {"tenants": {}, "platform": {}}}, {}, "flux.lanes.platform", "FT-CFG-006"),
        ({"lanes": {"tenants": {}, "a" * 21: {}}}, {}, f"flux.lanes.{'a' * 21}", "FT-CFG-006"),
        ({"lanes": LANES, "controllerRights": "release"}, {}, "flux.lanes", "FT-CFG-862"),
        ({"lanes": LANES, "profile": "single-tenant"}, {}, "flux.lanes", "FT-CFG-862"),
        (
            {"lanes": {"tenants": {"resources": {"notification-controller": {}}}}},
            {},
            "flux.lanes.tenants.resources",
            "FT-CFG-863",
        ),
        ({"setLanes": True}, {}, "flux.setLanes", "FT-CFG-820"),
        (
            {"lanes": LANES, "extraArgs": {"helm-controller": ["--watch-label-selector=a=b"]}},
            {},
            "flux.extraArgs",
            "FT-CFG-402",
        ),
        # A lane that has tenants is not removed.
        ({"lanes": {}}, OF_BATCH, "tenants.dev-team.lane", "FT-CFG-404"),
        ({"lanes": {"tenants": {}}}, OF_BATCH, "tenants.dev-team.lane", "FT-CFG-404"),
        # Only Kubernetes itself sets lanes.
        ({"lanes": LANES, "setLanes": True}, {"policies": {"engine": "none"}}, "flux.setLanes", "FT-CFG-671"),
        ({"lanes": LANES, "setLanes": True}, WITH_KYVERNO, "flux.setLanes", "FT-CFG-671"),
    ],
)
def test_lanes_that_would_serve_nobody_or_everybody_are_refused(tmp_path, flux, sections, path, code):
    assert refusals(tmp_path, flux=FLUX | flux, **sections) == [f"{path} {code}"]


def test_tenants_that_make_namespaces_have_no_lanes(tmp_path):
    found = refusals(tmp_path, flux=FLUX | {"lanes": LANES}, tenancy={"mode": "capsule"}, capsule=CAPSULE)

    assert found == ["flux.lanes FT-CFG-866"]


def planned(tmp_path, lanes, **tenant):
    config = load(tmp_path, flux=FLUX | {"lanes": lanes}, tenants={"dev-team": tenant})
    return {each.key: each.manifest for each in stack_plan(config, "staging").tenants["dev-team"]}


RELEASES = {
    "sources": {"charts": {"kind": "HelmRepository", "url": "https://charts.example.com"}},
    "releases": {"web": {"source": "charts", "chart": "web"}},
    "sync": {"commonMetadata": {"labels": {"team": "dev"}}},
}


def test_all_that_lanes_serve_has_the_label_and_hands_it_on(tmp_path):
    found = planned(tmp_path, LANES, lane="batch", **RELEASES)

    label = {LANE_LABEL: "batch"}
    labelled = {key for key, each in found.items() if each["metadata"].get("labels", {}).items() >= label.items()}
    assert labelled == {
        "GitRepository apps/dev-team", "HelmRepository apps/charts", "Kustomization apps/dev-team",
        "HelmRelease apps/web",
    }  # fmt: skip
    sync, release = found["Kustomization apps/dev-team"]["spec"], found["HelmRelease apps/web"]["spec"]
    assert sync["commonMetadata"]["labels"] == {"team": "dev"} | label
    assert release["commonMetadata"]["labels"] == label
    assert release["chart"]["metadata"]["labels"].items() >= label.items()
    assert found["Namespace apps"]["metadata"]["annotations"]["flux-tenancy/lane"] == "batch"


def test_a_tenant_that_names_no_lane_is_in_the_usual_one(tmp_path):
    found = planned(tmp_path, LANES)

    assert found["Kustomization apps/dev-team"]["metadata"]["labels"][LANE_LABEL] == "tenants"
    assert "flux-tenancy/lane" not in found["Namespace apps"]["metadata"]["annotations"]


@pytest.mark.parametrize(("before", "after"), [({}, LANES), (LANES, {}), (LANES, {"tenants": {}, "other": {}})])
def test_a_lane_keeps_its_rights_until_the_next_one_runs(before, after):
    def rights(lanes):
        tenant = tenant_config(lane=list(lanes)[-1] if lanes else None)
        return impersonations(flux_config(lanes=lanes), {"dev-team": tenant}, TenancyConfig())["apps"]

    state = State({(resource_type(each), name_of(each)): each for each in rights(before)})

    assert rights(before) != rights(after)
    # So they are not changed before the controllers (`Plan.early_rights`).
    assert all(is_granted(each, state) for each in rights(after))
