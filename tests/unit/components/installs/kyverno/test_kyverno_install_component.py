"""KyvernoInstall: webhook configurations outlive the chart, and what is built on Kyverno waits until it serves."""

import asyncio
from typing import Any, cast

import pulumi
from kubernetes.client import ApiClient
from recorded_program import run
from sample_kyverno import kyverno_config

from flux_tenancy.components.installs import product
from flux_tenancy.components.installs.kyverno import KyvernoInstall, KyvernoInstallArgs
from flux_tenancy.components.installs.product import Chart

CHART = Chart(".charts/5f.tgz", "3.9.1")
API = cast("ApiClient", object())
RELEASE = "Release kyverno"
STEP = pulumi.ResourceHookArgs("", "", "", "")


def installed():
    return run(lambda: KyvernoInstall("kyverno", KyvernoInstallArgs(kyverno_config(), CHART, API)) and None)


def test_the_chart_is_one_release_out_of_the_project():
    release = installed()[RELEASE]

    assert release.type == "kubernetes:helm.sh/v3:Release"
    assert release.properties["chart"] == CHART.path
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
        kyverno = KyvernoInstall("kyverno", KyvernoInstallArgs(kyverno_config(), CHART, API))
        wait: Any = kyverno.serving.callback
        steps.extend(await asyncio.gather(*(wait(STEP) for _ in range(50))))

    run(program)

    assert (len(asked), len(steps)) == (1, 50)
