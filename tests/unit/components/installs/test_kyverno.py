"""Kyverno: its section, its pinned chart and values, the order of what is installed, and when it serves."""

import asyncio
from typing import Any, cast

import pulumi
import pytest
from kubernetes.client import ApiClient
from loopback import serving
from message_codes import codes
from recorded_program import run
from sample_kyverno import KYVERNO, bundled_chart, chart_archive, kyverno_config
from sample_stack import DIGEST, load, problems, refusals

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


def test_a_kyverno_without_more_is_highly_available_and_makes_no_reports(tmp_path):
    config = load(tmp_path, kyverno=KYVERNO).kyverno

    assert config is not None
    assert (config.version, config.replicas, config.reports) == ("1.19.1", 3, False)


@pytest.mark.parametrize(
    ("keys", "key", "code"),
    [
        ({"version": "1.18.2"}, "version", "FT-CFG-452"),
        ({"version": "1.20.0"}, "version", "FT-CFG-452"),
        ({"version": "1.19"}, "version", "FT-CFG-006"),
        ({"sha256": "abc"}, "sha256", "FT-CFG-006"),
        ({"chart": {}}, "chart", "FT-CFG-181"),
        ({"chart": {"version": "3.9.1", "bundle": "kyverno.tgz"}}, "chart", "FT-CFG-181"),
        ({"replicas": 0}, "replicas", "FT-CFG-609"),
        ({"values": {}}, "values", "FT-CFG-602"),
        ({"resources": {"reports-controller": {}}}, "resources", "FT-CFG-820"),
        ({"resources": {"cleanup-controller": {}}}, "resources.cleanup-controller", "FT-CFG-606"),
    ],
)
def test_what_cannot_be_installed_is_refused_where_it_stands(tmp_path, keys, key, code):
    assert refusals(tmp_path, kyverno=KYVERNO | keys) == [f"kyverno.{key} {code}"]


def test_a_version_that_is_not_supported_is_told_those_that_are(tmp_path):
    unsupported = said("FT-CFG-452", "Kyverno", "1.19.x")

    [problem] = problems(tmp_path, kyverno=KYVERNO | {"version": "1.18.2"})

    assert problem == f"Pulumi.staging.yaml: kyverno.version: {unsupported.of('1.18.2')}"


CHART = chart_archive()


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """A cache of the user's that is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_chart_is_written_into_the_project_under_its_digest_in_place_of_other_content(tmp_path):
    config = bundled_chart(tmp_path, CHART)

    chart = kyverno_chart(config, tmp_path)

    file = tmp_path / chart.path
    assert (chart.path, chart.version) == (f".charts/{config.sha256}.tgz", "3.9.1")
    assert file.read_bytes() == CHART
    file.write_bytes(b"half of")
    assert kyverno_chart(config, tmp_path) == chart
    assert (file.read_bytes(), len(list(file.parent.iterdir()))) == (CHART, 1)


def test_a_chart_is_fetched_once_from_the_address_that_is_given(tmp_path):
    with serving({"/kyverno-3.9.1.tgz": CHART}) as url:
        pinned = bundled_chart(tmp_path, CHART, chart={"url": f"{url}/kyverno-3.9.1.tgz"})
        first = kyverno_chart(pinned, tmp_path)

    assert kyverno_chart(pinned, tmp_path) == first


def test_the_published_chart_is_named_by_its_version():
    assert kyverno_config().chart.address == "https://kyverno.github.io/kyverno/kyverno-3.9.1.tgz"


@pytest.mark.parametrize(
    ("content", "pinned", "key", "code", "named"),
    [
        (CHART, {"sha256": DIGEST}, "sha256", "FT-CFG-030", ["kyverno.tgz", DIGEST]),
        (CHART, {"chart": {"bundle": "nowhere.tgz"}}, "chart.bundle", "FT-CFG-020", ["nowhere.tgz"]),
        (CHART, {"chart": {"url": "http://127.0.0.1:1/a.tgz"}}, "chart", "FT-CFG-032", ["kyverno.chart.bundle"]),
        *(
            (content, {}, "chart", "FT-KYV-001", ["kyverno.tgz"])
            for content in (b"", b"kind: List", CHART[:40], chart_archive("other"), chart_archive(name="other"))
        ),
        (chart_archive(appVersion="v1.19.0"), {}, "version", "FT-KYV-002", ["1.19.1", "kyverno.tgz", "1.19.0"]),
    ],
)
def test_what_is_not_the_pinned_chart_is_refused_and_not_written(tmp_path, content, pinned, key, code, named):
    with pytest.raises(PinnedInputError) as refused:
        kyverno_chart(bundled_chart(tmp_path, content, **pinned), tmp_path)

    problem = refused.value.as_problem("Pulumi.staging.yaml")
    assert (problem.path, problem.code) == (f"kyverno.{key}", code)
    assert all(each in problem.message for each in named)
    assert not (tmp_path / ".charts").exists()


def test_a_project_where_the_chart_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / ".charts").write_text("a file")

    with pytest.raises(PinnedInputError) as refused:
        kyverno_chart(bundled_chart(tmp_path, CHART), tmp_path)

    assert (refused.value.key, code_of(refused.value)) == ("chart", "FT-KYV-003")


@pytest.mark.parametrize("config", [{}, {"replicas": 1}, {"replicas": 9, "reports": True}])
def test_nothing_that_weakens_the_platform_can_be_configured(config):
    values = helm_values(kyverno_config(**config))

    assert values["features"]["policyExceptions"] == {"enabled": False}
    assert values["features"]["forceFailurePolicyIgnore"] == {"enabled": False}
    assert values["rbac"]["roles"]["aggregate"] == {"admin": False, "view": False}
    assert values["cleanupController"] == {"enabled": False}


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


DENIED = f"{DENIAL}: compilation failed"
NO_SERVICE = 'failed calling webhook "validate-policy.kyverno.svc": connection refused'


@pytest.mark.parametrize(
    ("good", "broken", "reason"),
    [
        (None, DENIED, None),
        (None, None, "a broken policy is not refused"),
        (NO_SERVICE, NO_SERVICE, f"a broken policy is refused for another reason: {NO_SERVICE}"),
        (DENIED, DENIED, f"a good policy is refused: {DENIED}"),
    ],
)
def test_kyverno_serves_once_it_refuses_a_broken_policy_and_no_other(good, broken, reason):
    waited: list[float] = []

    def refusal(manifest):
        return good if manifest == DRY_RUNS.admitted[1] else broken

    def wait():
        wait_until_serving(DRY_RUNS, refusal, 10.0, clock=lambda: sum(waited), sleep=waited.append)

    if reason is None:
        wait()
        assert waited == []
    else:
        with pytest.raises(NotServing) as refused:
            wait()
        assert sum(waited) == 10
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
