"""KyvernoInstall: webhook configurations outlive the chart, and what is built on Kyverno waits until it serves."""

from typing import Any, cast

import pulumi
import pytest
from kubernetes.client import ApiClient
from recorded_program import run
from sample_kyverno import kyverno_config

from components import kyverno_install
from components.kubernetes_api import ClusterUnavailable
from components.kyverno.chart import Chart
from components.kyverno.serving import NotServing
from components.kyverno_install import KyvernoInstall, KyvernoInstallArgs

CHART = Chart(".charts/5f.tgz", "3.9.1")
API = cast(ApiClient, object())
RELEASE = "Release kyverno"


@pytest.fixture
def probes(monkeypatch):
    """How often Kyverno was waited for."""
    made: list[Any] = []
    monkeypatch.setattr(kyverno_install, "wait_until_serving", made.append)
    return made


def installed(preview=False, **keys):
    def program():
        kyverno = KyvernoInstall("kyverno", KyvernoInstallArgs(kyverno_config(**keys), CHART, API))
        pulumi.CustomResource("test:index:Policy", "policy", {}, pulumi.ResourceOptions(depends_on=[kyverno.serving]))

    return run(program, preview=preview)


def test_the_chart_is_one_release_out_of_the_project(probes):
    release = installed()[RELEASE]

    assert release.type == "kubernetes:helm.sh/v3:Release"
    assert release.properties["chart"] == CHART.path
    assert (release.properties["name"], release.properties["namespace"]) == ("kyverno", "kyverno")
    assert release.properties["values"]["admissionController"]["replicas"] == 3


def test_webhook_configurations_come_before_and_so_go_after_kyverno(probes):
    resources = installed()
    webhooks = {name for name in resources if name.split()[0].endswith("WebhookConfiguration")}

    assert len(webhooks) == 8
    assert resources["Namespace kyverno"].after == webhooks
    assert resources[RELEASE].after == {"Namespace kyverno"}
    assert all("webhooks" not in resources[name].properties for name in webhooks)


def test_kyverno_itself_keeps_the_annotations_that_pulumi_has_put_on_them(probes):
    resources = installed()
    kept = resources[RELEASE].properties["values"]["config"]["webhookAnnotations"]
    webhook = resources["ValidatingWebhookConfiguration kyverno-policy-validating-webhook-cfg"]

    assert webhook.properties["metadata"]["annotations"] == kept


def test_what_depends_on_serving_comes_after_a_kyverno_that_was_seen_to_serve(probes):
    assert installed()["Policy policy"].after == {RELEASE}
    assert len(probes) == 1


def test_a_preview_waits_for_nothing_and_shows_the_same_order(probes):
    assert installed(preview=True)["Policy policy"].after == {RELEASE}
    assert probes == []


@pytest.mark.parametrize(
    "failure", [NotServing("Kyverno does not serve"), ClusterUnavailable("kubeconfig", "cannot be reached")]
)
def test_a_kyverno_that_does_not_serve_ends_the_update_before_what_is_built_on_it(monkeypatch, failure):
    def fail(_):
        raise failure

    monkeypatch.setattr(kyverno_install, "wait_until_serving", fail)

    with pytest.raises(pulumi.RunError, match=str(failure)):
        installed()
