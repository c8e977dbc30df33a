"""The two security profiles, applied to a miniature release."""

from copy import deepcopy

import pytest
from sample_release import arguments, golden, names, one, release
from sample_stack import flux_config

from flux_tenancy.components.installs.flux.lockdown_flags import variables_for
from flux_tenancy.components.installs.flux.profile import StackFacts, configured, in_phases
from flux_tenancy.components.vocabulary.names import Controller
from tests.support.goldens import assert_golden

EVERY_CONTROLLER = [controller.value for controller in Controller]
PROFILES = ["multi-tenant", "single-tenant"]


def installed(**flux):
    return configured(release(), flux_config(components=EVERY_CONTROLLER, **flux))


def of_release(manifests):
    """The objects without the dedicated accounts of the controllers, which follow those of the release."""
    return manifests[: len(release())]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.golden
def test_the_controllers_are_started_with_exactly_these_arguments(profile):
    assert_golden(f"arguments-{profile}.yaml", arguments(installed(profile=profile)))


def test_the_single_tenant_profile_does_not_change_the_release():
    assert installed(profile="single-tenant") == release()


@pytest.mark.parametrize("workload_identity", [False, True])
def test_switching_the_profile_back_and_forth_loses_nothing(workload_identity):
    kept = release()

    locked = configured(kept, flux_config(workloadIdentity=workload_identity))
    opened = configured(kept, flux_config(profile="single-tenant"))

    assert kept == opened == release()
    assert configured(kept, flux_config(workloadIdentity=workload_identity)) == locked


def test_changes_of_the_result_do_not_change_the_release():
    kept = release()
    before = deepcopy(kept)

    for manifest in configured(kept, flux_config(profile="single-tenant")):
        manifest["metadata"]["labels"] = {"changed": "yes"}
        manifest.get("spec", {}).clear()

    assert kept == before


def test_workload_identity_changes_nothing_else():
    assert arguments(installed(workloadIdentity=True)) == golden("arguments-multi-tenant")


@pytest.mark.parametrize("profile", PROFILES)
def test_the_releases_network_policies_and_everything_else_are_kept(profile):
    manifests = installed(profile=profile)

    assert [manifest["metadata"] for manifest in of_release(manifests)] == [
        manifest["metadata"] for manifest in release()
    ]
    assert names(manifests, "NetworkPolicy") == ["only-among-controllers"]


@pytest.mark.parametrize("profile", PROFILES)
def test_the_operators_arguments_are_added_only_to_their_controller(profile):
    with_extra = arguments(installed(profile=profile, extraArgs={"helm-controller": ["--concurrent=8"]}))
    expected = golden(f"arguments-{profile}")
    expected["helm-controller"].insert(1, "--concurrent=8")

    assert with_extra == expected


@pytest.mark.parametrize(
    ("controller", "facts", "most"),
    [
        ("kustomize-controller", StackFacts(kustomizations=100), 104),
        ("source-controller", StackFacts(sources=30), 34),
        ("helm-controller", StackFacts(helm_releases=30), 34),
    ],
)
def test_a_controller_has_more_workers_than_one_tenant_can_occupy(controller, facts, most):
    def workers(facts=facts, **flux):
        found = arguments(configured(release(), flux_config(**flux), facts))
        return [(name, each) for name, given in found.items() for each in given or () if "concurrent" in each]

    own = "--concurrent=8"
    assert workers() == [(controller, f"--concurrent={most}")]
    assert workers(extraArgs={controller: [own]}) == [(controller, own)]
    assert workers(profile="single-tenant") == workers(StackFacts()) == []


def test_the_size_of_a_helm_index_is_bounded_unless_the_user_sets_another_size():
    own = "--helm-index-max-size=52428800"

    found = arguments(installed(extraArgs={"source-controller": [own]}))["source-controller"]

    assert [each for each in found or () if "index" in each] == [own]


def test_every_controller_knows_its_pods_address_before_it_listens_there():
    for manifest in installed():
        if manifest["kind"] == "Deployment":
            env = manifest["spec"]["template"]["spec"]["containers"][0]["env"]
            assert {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}} in env


def test_feature_gates_of_operator_release_and_lockdown_are_joined_in_one_flag():
    gates = ["--feature-gates=Beta=true,CancelHealthCheckOnNewRevision=false"]

    found = arguments(installed(extraArgs={"kustomize-controller": gates}))["kustomize-controller"]
    assert found is not None
    [*_, last] = found

    # If a feature gate is given twice, the controllers use the last value.
    assert last.startswith("--feature-gates=Alpha=true,Beta=true,CancelHealthCheckOnNewRevision=false,")
    assert last.endswith(",CancelHealthCheckOnNewRevision=true,DisableConfigWatchers=true")


def test_the_operators_resources_replace_the_releases_key_by_key():
    resources = {"source-controller": {"limits": {"memory": "4Gi"}}, "helm-controller": {"requests": {"cpu": "1"}}}

    manifests = installed(resources=resources, profile="single-tenant")

    def of(name):
        return one(manifests, "Deployment", name)["spec"]["template"]["spec"]["containers"][0].get("resources")

    assert of("source-controller") == {
        "requests": {"cpu": "50m", "memory": "64Mi"},
        "limits": {"cpu": "1000m", "memory": "4Gi"},
    }
    assert of("helm-controller")["requests"] == {"cpu": "1"}
    assert of("kustomize-controller") is None


def environment(manifests, name):
    return one(manifests, "Deployment", name)["spec"]["template"]["spec"]["containers"][0].get("env")


def test_the_multi_tenant_profile_adds_its_variables_to_the_releases_own():
    manifests = release()
    container = one(manifests, "Deployment", "kustomize-controller")["spec"]["template"]["spec"]["containers"][0]
    own = {"name": "RUNTIME_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}
    container["env"] = [{"name": "GIT_ALLOW_PROTOCOL", "value": "https"}, own]

    locked = configured(manifests, flux_config())

    expected = [{"name": each.name, "value": each.value} for each in variables_for(Controller.KUSTOMIZE)]
    found = environment(locked, "kustomize-controller")
    address = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    assert found is not None and found[: len(expected) + 2] == [own, address, *expected]
    assert {"name": "GIT_ALLOW_PROTOCOL", "value": "none"} in expected


def disk_of(manifests, name):
    """What a controller reserves of its node's disk, its limit, and the limits of its volumes."""
    pod = one(manifests, "Deployment", name)["spec"]["template"]["spec"]
    given = pod["containers"][0]["resources"]
    volumes = {each["name"]: each["emptyDir"].get("sizeLimit") for each in pod.get("volumes", ())}
    return given["requests"]["ephemeral-storage"], given["limits"]["ephemeral-storage"], volumes


def test_no_controller_and_no_volume_of_one_can_fill_its_node():
    manifests = installed(resources={"source-controller": {"limits": {"ephemeral-storage": "40Gi"}}})

    assert disk_of(manifests, "source-controller") == ("64Mi", "40Gi", {"data": "40Gi", "tmp": "40Gi"})
    assert disk_of(installed(), "source-controller") == ("64Mi", "8Gi", {"data": "8Gi", "tmp": "8Gi"})
    assert {disk_of(installed(), each)[:2] for each in EVERY_CONTROLLER} == {("64Mi", "8Gi"), ("64Mi", "4Gi")}


def test_a_controller_never_requests_more_disk_than_it_may_use():
    manifests = installed(
        resources={
            "helm-controller": {"limits": {"ephemeral-storage": "32Mi"}},
            "source-watcher": {"requests": {"ephemeral-storage": "5Gi"}},
            "source-controller": {"requests": {"ephemeral-storage": "20Gi"}},
        }
    )

    assert disk_of(manifests, "helm-controller")[:2] == ("32Mi", "32Mi")
    assert disk_of(manifests, "source-watcher")[:2] == ("5Gi", "8Gi")
    assert disk_of(manifests, "source-controller")[:2] == ("20Gi", "20Gi")


def test_a_size_that_the_release_gives_a_volume_stays():
    manifests = release()
    one(manifests, "Deployment", "source-controller")["spec"]["template"]["spec"]["volumes"] = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}},
    ]

    [data, tmp] = one(configured(manifests, flux_config()), "Deployment", "source-controller")["spec"]["template"][
        "spec"
    ]["volumes"]

    assert data == {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    assert tmp["emptyDir"] == {"sizeLimit": "1Gi"}


def test_every_object_is_in_exactly_one_phase():
    phases = in_phases(release(), flux_config())

    kinds = [
        {manifest["kind"] for manifest in phase}
        for phase in (phases.namespaces, phases.definitions, phases.access, phases.controllers)
    ]
    assert kinds[0] == {"Namespace"}
    assert kinds[1] == {"CustomResourceDefinition"}
    assert {"ClusterRole", "ClusterRoleBinding", "ServiceAccount", "Service", "NetworkPolicy"} <= kinds[2]
    assert kinds[3] == {"Deployment"}
    assert len(release()) == sum(map(len, (phases.namespaces, phases.definitions, phases.access, phases.controllers)))
