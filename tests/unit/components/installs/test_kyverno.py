"""Kyverno: its section, its pinned chart and values, the order of what is installed, and when it serves."""

import asyncio
import hashlib
from typing import Any, cast

import pulumi
import pytest
from kubernetes.client import ApiClient
from loopback import closed_port, serving
from message_codes import codes
from recorded_program import run
from sample_kyverno import KYVERNO, bundled_chart, chart_archive, kyverno_config
from sample_stack import DIGEST, load, problems

from flux_tenancy.components.config.messages import code_of
from flux_tenancy.components.config.pinned_input import PinnedInputError
from flux_tenancy.components.installs import product
from flux_tenancy.components.installs.kyverno import (
    DENIAL,
    DRY_RUNS,
    KyvernoInstall,
    KyvernoInstallArgs,
    helm_values,
    kyverno_chart,
)
from flux_tenancy.components.installs.product import Chart, NotServing, wait_until_serving
from tests.support.messages import said


def test_no_section_is_no_kyverno(tmp_path):
    assert load(tmp_path).kyverno is None


def test_a_kyverno_without_more_is_highly_available_and_makes_no_reports(tmp_path):
    config = load(tmp_path, kyverno=KYVERNO).kyverno

    assert config is not None
    assert (config.version, config.replicas, config.reports) == ("1.19.1", 3, False)


@pytest.mark.parametrize(
    ("keys", "key", "said"),
    [
        ({"version": "1.18.2"}, "kyverno.version", said("FT-CFG-452", "Kyverno", "1.19.x")),
        ({"version": "1.20.0"}, "kyverno.version", said("FT-CFG-452", "Kyverno", "1.19.x")),
        ({"version": "1.19"}, "kyverno.version", said("FT-CFG-006", "a Kyverno release", "1.19.1")),
        (
            {"sha256": "abc"},
            "kyverno.sha256",
            said("FT-CFG-006", "a SHA-256 digest", "9f86d08…, with 64 lowercase hexadecimal digits"),
        ),
        ({"chart": {}}, "kyverno.chart", said("FT-CFG-181", "version, url and bundle")),
        (
            {"chart": {"version": "3.9.1", "bundle": "kyverno.tgz"}},
            "kyverno.chart",
            said("FT-CFG-181", "version, url and bundle"),
        ),
        ({"replicas": 0}, "kyverno.replicas", said("FT-CFG-609", "at least 1", "0")),
        ({"values": {}}, "kyverno.values", ""),
        (
            {"resources": {"reports-controller": {}}},
            "kyverno.resources",
            said(
                "FT-CFG-820",
                "reports-controller is installed only with reports",
                "set reports to true, or remove its resources",
            ),
        ),
        ({"resources": {"cleanup-controller": {}}}, "kyverno.resources", "admission-controller"),
    ],
)
def test_what_cannot_be_installed_is_refused_where_it_stands(tmp_path, keys, key, said):
    [problem] = problems(tmp_path, kyverno=KYVERNO | keys)

    assert problem.startswith(f"Pulumi.staging.yaml: {key}")
    assert said in problem


CHART = chart_archive()


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """A cache of the user's that is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def refused(config, project):
    with pytest.raises(PinnedInputError) as error:
        kyverno_chart(config, project)
    problem = error.value.as_problem("Pulumi.staging.yaml")
    return problem.path, problem.message


def test_a_chart_is_written_into_the_project_under_its_digest(tmp_path):
    config = bundled_chart(tmp_path, CHART)

    chart = kyverno_chart(config, tmp_path)

    assert chart.path == f".charts/{config.sha256}.tgz"
    assert chart.version == "3.9.1"
    assert (tmp_path / chart.path).read_bytes() == CHART


def test_a_file_with_other_content_is_replaced(tmp_path):
    config = bundled_chart(tmp_path, CHART)
    file = tmp_path / kyverno_chart(config, tmp_path).path
    file.write_bytes(b"half of")

    kyverno_chart(config, tmp_path)

    assert file.read_bytes() == CHART
    assert len(list(file.parent.iterdir())) == 1


def test_a_chart_is_fetched_once_from_the_address_that_is_given(tmp_path):
    with serving({"/kyverno-3.9.1.tgz": CHART}) as url:
        pinned = bundled_chart(tmp_path, CHART, chart={"url": f"{url}/kyverno-3.9.1.tgz"})
        first = kyverno_chart(pinned, tmp_path)

    assert kyverno_chart(pinned, tmp_path) == first


def test_the_published_chart_is_named_by_its_version():
    assert kyverno_config().chart.address == "https://kyverno.github.io/kyverno/kyverno-3.9.1.tgz"


def test_another_digest_is_refused(tmp_path):
    reason = said("FT-CFG-030", "kyverno.tgz", hashlib.sha256(CHART).hexdigest(), DIGEST, "kyverno")

    assert refused(bundled_chart(tmp_path, CHART, sha256=DIGEST), tmp_path) == ("kyverno.sha256", reason)
    assert not (tmp_path / ".charts").exists()


@pytest.mark.parametrize(
    "content", [b"", b"kind: List", CHART[:40], chart_archive("other"), chart_archive(name="other")]
)
def test_what_is_not_the_chart_is_refused(tmp_path, content):
    key, message = refused(bundled_chart(tmp_path, content), tmp_path)

    assert (key, code_of(message)) == ("kyverno.chart", "FT-KYV-001")
    assert "kyverno.tgz" in message


def test_the_chart_of_another_kyverno_is_refused(tmp_path):
    config = bundled_chart(tmp_path, chart_archive(appVersion="v1.19.0"))

    key, message = refused(config, tmp_path)

    assert (key, code_of(message)) == ("kyverno.version", "FT-KYV-002")
    assert all(field in message for field in ("1.19.1", "kyverno.tgz", "1.19.0"))


def test_a_missing_bundle_and_a_server_that_is_down_are_named_with_the_key(tmp_path):
    url = f"http://127.0.0.1:{closed_port()}/kyverno.tgz"

    assert refused(kyverno_config(chart={"bundle": "nowhere.tgz"}), tmp_path) == (
        "kyverno.chart.bundle",
        said("FT-CFG-020", "No such file or directory").of("nowhere.tgz"),
    )
    assert refused(kyverno_config(chart={"url": url}), tmp_path) == (
        "kyverno.chart",
        said("FT-CFG-032", url, "the server cannot be reached", "kyverno", "chart"),
    )


def test_a_project_where_the_chart_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / ".charts").write_text("a file")

    key, message = refused(bundled_chart(tmp_path, CHART), tmp_path)

    assert (key, code_of(message)) == ("kyverno.chart", "FT-KYV-003")


SIZES = [{}, {"replicas": 1}, {"replicas": 9, "reports": True}]


@pytest.mark.parametrize("config", SIZES)
def test_nothing_that_weakens_the_platform_can_be_configured(config):
    values = helm_values(kyverno_config(**config))

    assert values["features"]["policyExceptions"] == {"enabled": False}
    assert values["features"]["forceFailurePolicyIgnore"] == {"enabled": False}
    assert values["rbac"]["roles"]["aggregate"] == {"admin": False, "view": False}
    assert values["cleanupController"] == {"enabled": False}


@pytest.mark.parametrize("config", SIZES)
def test_replica_sets_are_checked_and_no_filter_is_added(config):
    settings = helm_values(kyverno_config(**config))["config"]

    assert settings["resourceFiltersExclude"] == [
        "[ReplicaSet,*,*]",
        "[ReplicaSet/?*,*,*]",
        "[Binding,*,*]",
        "[Pod/binding,*,*]",
    ]
    assert {key for key in settings if key.startswith(("resourceFilters", "exclude", "webhooks", "match"))} == {
        "resourceFiltersExclude"
    }


@pytest.mark.parametrize(
    ("replicas", "admission", "others", "guarded"), [(1, 1, 1, False), (2, 2, 2, True), (3, 3, 2, True)]
)
def test_replicas_make_every_controller_highly_available(replicas, admission, others, guarded):
    values = helm_values(kyverno_config(replicas=replicas))
    controllers = {name: values[f"{name}Controller"] for name in ("admission", "background", "reports")}

    assert {name: each["replicas"] for name, each in controllers.items()} == {
        "admission": admission,
        "background": others,
        "reports": others,
    }
    assert {each["podDisruptionBudget"]["enabled"] for each in controllers.values()} == {guarded}


def test_a_pod_that_ends_serves_on_for_a_while():
    lifecycle = helm_values(kyverno_config())["admissionController"]["container"]["lifecycle"]

    assert lifecycle == {"preStop": {"sleep": {"seconds": 5}}}


def test_a_new_pod_is_sent_no_request_before_it_has_compiled_the_policies():
    probe = helm_values(kyverno_config())["admissionController"]["readinessProbe"]

    assert (probe["successThreshold"] - 1) * probe["periodSeconds"] == 10
    assert probe["failureThreshold"] * probe["periodSeconds"] == 60


@pytest.mark.parametrize("reports", [False, True])
def test_reports_and_what_makes_them_come_together(reports):
    values = helm_values(kyverno_config(reports=reports))

    assert values["reportsController"]["enabled"] is reports
    for feature in ("admissionReports", "aggregateReports", "policyReports", "backgroundScan"):
        assert values["features"][feature] == {"enabled": reports}


def test_the_background_controller_may_do_what_it_is_given_and_no_more():
    rule = {"apiGroups": [""], "resources": ["resourcequotas"], "verbs": ["create"]}

    assert helm_values(kyverno_config(), [rule])["backgroundController"]["rbac"] == {
        # Never empty, or the chart's own list would be in its place.
        "coreClusterRole": {"extraResources": [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}]},
        "clusterRole": {"extraResources": [rule]},
    }


def test_resources_are_those_of_their_controller_and_say_nothing_that_was_not_said():
    given = {
        "admission-controller": {"limits": {"memory": "1Gi"}},
        "background-controller": {"requests": {"cpu": "200m"}},
    }
    values = helm_values(kyverno_config(resources=given))

    assert values["admissionController"]["container"]["resources"] == {"limits": {"memory": "1Gi"}}
    assert values["backgroundController"]["resources"] == {"requests": {"cpu": "200m"}}
    assert "resources" not in values["reportsController"]


@pytest.mark.parametrize(
    ("largest", "given", "memory"),
    [
        (128, {}, "564Mi"),
        (256, {}, "864Mi"),
        (128, {"requests": {"cpu": "1"}}, "564Mi"),
        (128, {"limits": {"memory": "2Gi"}}, "2Gi"),
    ],
)
def test_the_admission_controllers_memory_follows_the_largest_object_unless_the_stack_sets_it(largest, given, memory):
    config = kyverno_config(resources={"admission-controller": given})

    container = helm_values(config, largest_object=largest)["admissionController"]["container"]

    assert container["resources"] == given | {"limits": {"memory": memory}}
    assert container["resources"].get("requests") == given.get("requests")


def test_without_a_largest_object_the_memory_is_the_charts():
    assert "resources" not in helm_values(kyverno_config())["admissionController"]["container"]


DENIED = f"{DENIAL}: compilation failed"
NO_SERVICE = 'failed calling webhook "validate-policy.kyverno.svc": connection refused'


class Cluster:
    """Answers each round of probes with the next pair; the last one stays. Time passes with each wait."""

    def __init__(self, *rounds):
        self.rounds = list(rounds)
        self.waited = 0.0

    def refusal(self, manifest):
        good, broken = self.rounds[0]
        return good if manifest == DRY_RUNS.admitted[1] else broken

    def sleep(self, seconds):
        self.waited += seconds
        if len(self.rounds) > 1:
            self.rounds.pop(0)

    def wait(self):
        wait_until_serving(DRY_RUNS, self.refusal, 10.0, clock=lambda: self.waited, sleep=self.sleep)


def test_a_kyverno_that_refuses_only_the_broken_policy_serves_at_once():
    cluster = Cluster((None, DENIED))

    cluster.wait()

    assert cluster.waited == 0


def test_the_wait_goes_on_while_nothing_or_something_else_answers():
    cluster = Cluster((NO_SERVICE, NO_SERVICE), (None, None), (None, DENIED))

    cluster.wait()

    assert cluster.waited == 2


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ((None, None), "a broken policy is not refused"),
        ((NO_SERVICE, NO_SERVICE), f"a broken policy is refused for another reason: {NO_SERVICE}"),
        ((DENIED, DENIED), f"a good policy is refused: {DENIED}"),
    ],
)
def test_a_kyverno_that_never_serves_is_an_error_with_the_reason(answers, reason):
    cluster = Cluster(answers)

    with pytest.raises(NotServing) as refused:
        cluster.wait()

    assert cluster.waited == 10
    assert codes([refused.value]) == ["FT-KYV-007"]
    assert "10 s" in str(refused.value) and reason in str(refused.value)


PINNED = Chart(".charts/5f.tgz", "3.9.1")
API = cast("ApiClient", object())
RELEASE = "Release kyverno"
STEP = pulumi.ResourceHookArgs("", "", "", "")


def installed():
    return run(lambda: KyvernoInstall("kyverno", KyvernoInstallArgs(kyverno_config(), PINNED, API)) and None)


def test_the_chart_is_one_release_out_of_the_project():
    release = installed()[RELEASE]

    assert release.type == "kubernetes:helm.sh/v3:Release"
    assert release.properties["chart"] == PINNED.path
    assert (release.properties["name"], release.properties["namespace"]) == ("kyverno", "kyverno")
    assert release.properties["values"]["admissionController"]["replicas"] == 3


def test_webhook_configurations_come_before_and_so_go_after_kyverno():
    resources = installed()
    webhooks = {name for name in resources if name.split()[0].endswith("WebhookConfiguration")}

    assert len(webhooks) == 8
    assert resources["Namespace kyverno"].after == webhooks
    assert resources[RELEASE].after == {"Namespace kyverno"}
    assert all("webhooks" not in resources[name].properties for name in webhooks)


def test_kyverno_itself_keeps_the_annotations_that_pulumi_has_put_on_them():
    resources = installed()
    kept = resources[RELEASE].properties["values"]["config"]["webhookAnnotations"]
    webhook = resources["ValidatingWebhookConfiguration kyverno-policy-validating-webhook-cfg"]

    assert webhook.properties["metadata"]["annotations"] == kept


def test_the_engine_goes_on_once_a_changed_kyverno_serves():
    serving = ["kyverno-serving"]

    assert installed()[RELEASE].hooks == {"after_create": serving, "after_update": serving}


def test_kyverno_is_asked_once_however_many_steps_wait_for_it(monkeypatch):
    asked: list[Any] = []
    monkeypatch.setattr(product, "wait_until_serving", lambda *_: asked.append(1))
    steps: list[None] = []

    async def program():
        kyverno = KyvernoInstall("kyverno", KyvernoInstallArgs(kyverno_config(), PINNED, API))
        wait: Any = kyverno.serving.callback
        steps.extend(await asyncio.gather(*(wait(STEP) for _ in range(50))))

    run(program)

    assert (len(asked), len(steps)) == (1, 50)
