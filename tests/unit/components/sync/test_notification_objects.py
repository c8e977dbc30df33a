"""The objects of a notification, as they are applied to the cluster."""

from base64 import b64decode
from types import SimpleNamespace
from typing import Any

import pytest
from sample_sources import authority
from sample_stack import FLUX, load

from flux_tenancy.components.stack.plan import stack_plan
from flux_tenancy.components.sync.notifications import ALL_KINDS, BETA_PROVIDER_API, Notification, planned_notification
from flux_tenancy.components.vocabulary.names import ObjectMeta

META = ObjectMeta("dev-team", "apps", {"toolkit.fluxcd.io/tenant": "dev-team"})
REPOSITORY = "https://git.example.com/dev-team/apps"


def objects(repository: str = REPOSITORY, **notification: Any):
    planned = planned_notification(
        META, "chat", Notification.model_validate(notification), repository, BETA_PROVIDER_API
    )
    found = {each.kind: each.manifest for each in planned}
    return SimpleNamespace(secret=found.get("Secret"), provider=found["Provider"], alert=found["Alert"])


def content(secret) -> dict[str, str]:
    return {key: b64decode(value).decode() for key, value in secret["data"].items()}


def test_a_channels_webhook_is_a_secret_that_the_provider_refers_to():
    found = objects(type="slack", secretAddress="https://hooks.slack.com/services/a\n", severity="error")

    assert found.secret == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"generateName": "apps.chat-", "namespace": "apps", "labels": META.labels},
        "type": "Opaque",
        "data": {"address": "aHR0cHM6Ly9ob29rcy5zbGFjay5jb20vc2VydmljZXMvYQ=="},
        "immutable": True,
    }
    metadata = {"name": "dev-team-chat", "namespace": "apps", "labels": META.labels}
    assert found.provider == {
        "apiVersion": "notification.toolkit.fluxcd.io/v1beta3",
        "kind": "Provider",
        "metadata": metadata,
        "spec": {"type": "slack", "secretRef": {"name": "apps.chat"}},
    }
    assert found.alert == {
        "apiVersion": "notification.toolkit.fluxcd.io/v1beta3",
        "kind": "Alert",
        "metadata": metadata,
        "spec": {
            "providerRef": {"name": "dev-team-chat"},
            "eventSeverity": "error",
            "eventSources": [{"kind": kind, "name": "*"} for kind in ALL_KINDS],
        },
    }


def test_an_address_that_is_no_credential_is_in_the_provider_and_needs_no_secret():
    found = objects(type="alertmanager", address="https://alertmanager.example.com", username="flux", channel="shop")

    assert found.secret is None
    assert found.provider["spec"] == {
        "type": "alertmanager",
        "address": "https://alertmanager.example.com",
        "channel": "shop",
        "username": "flux",
    }


def test_a_password_its_user_and_the_authority_are_in_the_secret():
    found = objects(
        type="grafana",
        address="https://g.example.com",
        username="flux",
        password=" pa55word ",
        certificateAuthority=authority(),
    )

    assert content(found.secret) == {"password": "pa55word", "username": "flux", "ca.crt": authority()}
    assert found.provider["spec"] == {
        "type": "grafana",
        "address": "https://g.example.com",
        "secretRef": {"name": "apps.chat"},
        "certSecretRef": {"name": "apps.chat"},
    }


def test_an_alert_has_the_filters_and_the_metadata_of_its_notification():
    found = objects(
        type="alertmanager",
        address="https://a.example.com",
        kinds=["HelmRelease"],
        include=["forbidden"],
        exclude=["waiting"],
        metadata={"env": "staging"},
    )

    assert found.alert["spec"] == {
        "providerRef": {"name": "dev-team-chat"},
        "eventSeverity": "info",
        "eventSources": [{"kind": "HelmRelease", "name": "*"}],
        "inclusionList": ["forbidden"],
        "exclusionList": ["waiting"],
        "eventMetadata": {"env": "staging"},
    }


@pytest.mark.parametrize(
    ("repository", "address"),
    [
        (REPOSITORY, REPOSITORY),
        ("ssh://git@git.example.com/dev-team/apps.git", "https://git.example.com/dev-team/apps.git"),
        ("ssh://git@git.example.com:2222/dev-team/apps", "https://git.example.com/dev-team/apps"),
    ],
)
def test_a_commit_status_is_about_the_repository_of_the_sync_by_default(repository, address):
    assert objects(repository, type="gitea", token="t").provider["spec"]["address"] == address


def test_another_repository_replaces_that_of_the_sync():
    other = "https://git.example.com/dev-team/config"

    assert objects(type="gitea", token="t", address=other).provider["spec"]["address"] == other
    assert "address" not in objects(type="gitea", token="t", secretAddress=other).provider["spec"]


@pytest.mark.parametrize(("version", "api"), [("2.9.6", "v1beta3"), ("2.10.1", "v1")])
def test_alerts_and_providers_have_the_api_of_the_release(tmp_path, version, api):
    chat = {"chat": {"type": "alertmanager", "address": "https://alertmanager.example.com"}}
    sync = {"source": {"url": "https://git.example.com/platform/fleet"}}
    flux = FLUX | {"version": version, "sync": sync, "notifications": chat}
    plan = stack_plan(load(tmp_path, flux=flux, tenants={"dev-team": {}}, tenancy={"notifications": chat}), "staging")

    found = [each.manifest for each in (*plan.tenants["dev-team"], *plan.platform)]
    versions = [each["apiVersion"] for each in found if each["kind"] in ("Alert", "Provider")]
    assert versions == [f"notification.toolkit.fluxcd.io/{api}"] * 4
