"""Notifications of a stack: what is refused by itself, and what does not go with the rest of the stack."""

from typing import Any

import pytest
from sample_sources import authority
from sample_stack import Secret, load, problems

from flux_tenancy.components.sync.notifications import ALL_KINDS, COMMIT_STATUSES, PROVIDER_TYPES, Address, Notification
from tests.support.messages import said

HOOK = "https://hooks.slack.com/services/T0/B0/pa55word"
ALERTMANAGER = {"type": "alertmanager", "address": "https://alertmanager.example.com"}


def notified(**notification: Any) -> dict[str, Any]:
    return {"tenants": {"dev-team": {"notifications": {"chat": notification}}}}


@pytest.mark.parametrize(
    "notification",
    [
        {"type": "slack", "secretAddress": Secret(HOOK), "severity": "error", "exclude": ["^Health check"]},
        {"type": "slack", "address": "https://slack.com/api/chat.postMessage", "token": Secret("t"), "channel": "shop"},
        {"type": "msteams", "secretAddress": Secret("https://a.logic.azure.com:443/workflows/b?sig=c")},
        {"type": "generic-hmac", "address": "https://hooks.example.com/flux", "token": Secret("key")},
        {"type": "gitea", "token": Secret("t"), "kinds": ["Kustomization"], "metadata": {"env": "staging"}},
        {"type": "grafana", "address": "https://g.example.com", "username": "flux", "password": Secret("p")},
        {"type": "telegram", "token": Secret("t"), "channel": "@shop"},
        {"type": "datadog", "token": Secret("t")},
    ],
)
def test_a_tenant_has_notifications_of_many_types(tmp_path, notification):
    config = load(tmp_path, **notified(**notification))

    assert config.tenants["dev-team"].notifications["chat"].type == notification["type"]


def test_the_platform_declares_notifications_to_any_host_where_none_is_listed(tmp_path):
    load(tmp_path, **notified(type="generic", address="https://192.0.2.1/a"))


@pytest.mark.parametrize("opened", ["stack", "tenant"])
def test_providers_are_opened_only_with_their_types_and_hosts(tmp_path, opened):
    tenancy = {"kinds": ["Provider"]} if opened == "stack" else {}
    own = {"policies": {"kinds": ["Provider"]}} if opened == "tenant" else {}
    place = "tenancy.kinds" if opened == "stack" else "tenants.dev-team.policies.kinds"
    hosts = "policies.notifications.hosts, or policies.notifications of tenants.dev-team"

    assert problems(tmp_path, tenants={"dev-team": own}, tenancy=tenancy) == [
        f"Pulumi.staging.yaml: {place}: " + said("FT-MSG-063", "dev-team", keys)
        for keys in (hosts, "policies.notifications.types")
    ]


def test_providers_with_types_and_hosts_may_be_opened(tmp_path):
    policies = {"notifications": {"types": ["slack"], "hosts": ["hooks.slack.com"]}}

    load(tmp_path, tenants={"dev-team": {}}, tenancy={"kinds": ["Provider"]}, policies=policies)


def test_what_the_stack_declares_needs_no_entry_of_the_lists(tmp_path):
    policies = {"notifications": {"hosts": ["hooks.slack.com"]}}
    declared = {"phone": {"type": "telegram", "token": Secret("t"), "channel": "@shop"}, "alerts": ALERTMANAGER}
    for_all = {"all": {"type": "generic", "address": "https://alerts.example.org"}}

    load(
        tmp_path,
        tenants={"dev-team": {"notifications": declared}},
        tenancy={"notifications": for_all},
        policies=policies,
    )


@pytest.mark.parametrize("policies", [{"engine": "none"}, {"modes": {"notification-addresses": "off"}}])
def test_without_the_policy_any_host_is_taken(tmp_path, policies):
    load(tmp_path, policies=policies, **notified(type="generic", address="http://127.0.0.1:1"))


@pytest.mark.parametrize("policies", [{}, {"engine": "none"}])
def test_a_commit_status_needs_an_address_if_the_tenant_has_no_repository(tmp_path, policies):
    base = "namespaces: [{name: apps}]\nsources: {app: {kind: OCIRepository, url: oci://registry.example.com/app}}\n"
    own = {"sync": {"source": "app"}, "notifications": {"status": {"type": "gitea", "token": Secret("t")}}}

    assert problems(tmp_path, bases={"dev-team": base}, tenants={"dev-team": own}, policies=policies) == [
        "Pulumi.staging.yaml: tenants.dev-team.notifications.status.address: " + said("FT-CFG-605")
    ]


def with_source(key, notification):
    """A tenant with the source `app` and one notification."""
    url = "oci://registry.example.com/app"
    base = f"namespaces: [{{name: dev-team}}]\nsources: {{app: {{kind: OCIRepository, url: {url}}}}}\n"
    own = {"sync": {"source": "app"}, "notifications": {key: notification}}
    return {"bases": {"dev-team": base}, "tenants": {"dev-team": own}}


@pytest.mark.parametrize(
    "notification",
    [{"type": "slack", "secretAddress": Secret(HOOK)}, ALERTMANAGER | {"certificateAuthority": authority()}],
)
def test_the_secret_of_a_notification_has_a_name_of_its_own(tmp_path, notification):
    assert problems(tmp_path, **with_source("app-credentials", notification)) == [
        "Pulumi.staging.yaml: tenants.dev-team.notifications.app-credentials: "
        + said("FT-CFG-001", "dev-team.app: its Secret for credentials would have the same name")
    ]


@pytest.mark.parametrize(
    ("key", "notification"),
    [
        ("app-credentials", ALERTMANAGER),
        ("app-status", {"type": "slack", "secretAddress": Secret(HOOK)}),
        ("other-credentials", {"type": "slack", "secretAddress": Secret(HOOK)}),
    ],
)
def test_a_notification_may_be_named_as_no_secret_of_the_tenant_is(tmp_path, key, notification):
    assert key in load(tmp_path, **with_source(key, notification)).tenants["dev-team"].notifications


def test_commit_statuses_are_about_kustomizations_and_anything_else_about_all_kinds():
    token = {"token": "t", "secretAddress": None}
    kinds = {
        name: Notification.model_validate({"type": name} | token).sent_kinds
        for name, each in PROVIDER_TYPES.items()
        if each.address is Address.REPOSITORY
    }

    assert {name for name, sent in kinds.items() if sent == ("Kustomization",)} == set(COMMIT_STATUSES)
    assert {sent for name, sent in kinds.items() if name not in COMMIT_STATUSES} == {ALL_KINDS}
