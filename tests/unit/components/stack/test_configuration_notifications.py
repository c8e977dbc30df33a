"""Notifications of a stack: what is refused by itself, and what does not go with the rest of the stack."""

from typing import Any

import pytest
from sample_sources import authority
from sample_stack import FLUX, Secret, load, problems

from flux_tenancy.components.sync.notifications import ALL_KINDS, COMMIT_STATUSES, PROVIDER_TYPES, Address, Notification
from tests.support.messages import said

HOOK = "https://hooks.slack.com/services/T0/B0/pa55word"
ALERTMANAGER = {"type": "alertmanager", "address": "https://alertmanager.example.com"}


def notified(**notification: Any) -> dict[str, Any]:
    return {"tenants": {"dev-team": {"notifications": {"chat": notification}}}}


def refused(project, **notification: Any) -> list[str]:
    """The problems of the notification `chat`, each without its file."""
    prefix = "Pulumi.staging.yaml: tenants.dev-team.notifications.chat"
    found = problems(project, **notified(**notification))
    assert all(problem.startswith(prefix) for problem in found)
    return [problem.removeprefix(prefix) for problem in found]


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


@pytest.mark.parametrize(
    ("notification", "problem"),
    [
        ({"type": "slak"}, ".type: " + said("FT-CFG-404", "a type of receiver", ", ".join(PROVIDER_TYPES)).of("slak")),
        ({"type": "slack"}, ": " + said("FT-MSG-005", "slack")),
        ({"type": "discord", "address": HOOK}, ".address: " + said("FT-MSG-006", "discord")),
        ({"type": "slack", "address": HOOK}, ".address: " + said("FT-MSG-006", "slack")),
        (
            ALERTMANAGER | {"secretAddress": Secret(HOOK)},
            ".secretAddress: " + said("FT-CFG-273", "address and secretAddress"),
        ),
        (
            {"type": "telegram", "secretAddress": Secret(HOOK), "token": Secret("t"), "channel": "@shop"},
            ".secretAddress: " + said("FT-CFG-820", "telegram posts to a fixed host", "remove it"),
        ),
        (ALERTMANAGER | {"eventSources": []}, ".eventSources: " + said("FT-FLX-034", "set kinds")),
        (ALERTMANAGER | {"providerRef": {"name": "a"}}, ".providerRef: " + said("FT-FLX-034", "remove it")),
        (ALERTMANAGER | {"password": Secret("p")}, ".username: " + said("FT-CFG-605")),
        (
            ALERTMANAGER | {"include": ["(?!a)b"]},
            ".include[0]: "
            + said(
                "FT-CFG-006",
                "a regular expression of RE2, which has neither lookarounds nor backreferences",
                "(?i)forbidden|denied",
            ).of("(?!a)b"),
        ),
        (
            ALERTMANAGER | {"exclude": ["("]},
            ".exclude[0]: "
            + said(
                "FT-CFG-006",
                "a regular expression (missing ), unterminated subpattern at position 0)",
                "(?i)forbidden|denied",
            ).of("("),
        ),
    ],
)
def test_what_a_type_does_not_take_is_refused(tmp_path, notification, problem):
    assert refused(tmp_path, **notification) == [problem]


@pytest.mark.parametrize(
    "key", ["severity", "kinds", "metadata", "channel", "username", "include", "certificateAuthority"]
)
def test_a_value_of_another_kind_is_refused_at_its_key(tmp_path, key):
    [problem] = refused(tmp_path, **ALERTMANAGER, **{key: 5})

    assert problem.startswith(f".{key}: ")


@pytest.mark.parametrize(
    ("key", "value"),
    [("severity", "warning"), ("kinds", ["Pod"]), ("metadata", {"env": ["a"]}), ("channel", "")],
)
def test_a_value_that_flux_does_not_take_is_refused_at_its_key(tmp_path, key, value):
    [problem] = refused(tmp_path, **ALERTMANAGER, **{key: value})

    assert problem.startswith(f".{key}")


@pytest.mark.parametrize("key", ["secretAddress", "token", "password"])
def test_a_credential_in_plain_text_is_refused_and_not_shown(tmp_path, key):
    notification = {"type": "grafana", "username": "flux", "secretAddress": Secret(HOOK)} | {key: HOOK}

    [problem] = problems(tmp_path, **notified(**notification))

    path = f"tenants.dev-team.notifications.chat.{key}"
    assert problem == f"Pulumi.staging.yaml: {path}: " + said("FT-CFG-640", "", path, "")
    assert "pa55word" not in problem


@pytest.mark.parametrize(
    "address", ["hooks.slack.com/pa55word", "https:///pa55word", "https://a:b/pa55word", "https://a b/pa55word"]
)
def test_a_secret_that_is_no_url_is_refused_and_not_shown(tmp_path, address):
    example = "https://alerts.example.com/path"

    assert refused(tmp_path, type="slack", secretAddress=Secret(address)) == [
        ".secretAddress: " + said("FT-CFG-006", "a URL with a host", example)
    ]


def test_a_password_in_an_address_that_everybody_may_read_is_refused_and_not_shown(tmp_path):
    assert refused(tmp_path, type="generic", address="https://flux:pa55word@hooks.example.com") == [
        ".address: " + said("FT-CFG-014")
    ]


def test_a_host_without_tls_is_refused_before_anything_is_applied(tmp_path):
    notification = {"type": "generic", "secretAddress": Secret("http://hooks.example.com/pa55word")}

    assert refused(tmp_path, **notification) == [".secretAddress: " + said("FT-MSG-041", "hooks.example.com")]


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


def test_messages_about_every_tenant_have_no_credential_that_tenants_could_read(tmp_path):
    secret = {"type": "slack", "secretAddress": Secret(HOOK)}

    assert problems(tmp_path, tenants={"dev-team": {}}, tenancy={"notifications": {"all": secret}}) == [
        "Pulumi.staging.yaml: tenancy.notifications.all.secretAddress: " + said("FT-MSG-020")
    ]


def test_a_tenant_and_the_platform_do_not_use_the_same_name(tmp_path):
    tenants = {"dev-team": {"notifications": {"all": ALERTMANAGER}}}

    assert problems(tmp_path, tenants=tenants, tenancy={"notifications": {"all": ALERTMANAGER}}) == [
        "Pulumi.staging.yaml: tenants.dev-team.notifications.all: "
        + said("FT-CFG-001", "a notification of tenancy.notifications")
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


@pytest.mark.parametrize("name", ["Chat", "a.b", "a_b", ""])
def test_a_name_that_no_object_can_have_is_refused(tmp_path, name):
    [problem] = problems(tmp_path, tenants={"dev-team": {"notifications": {name: ALERTMANAGER}}})

    assert "tenants.dev-team.notifications" in problem


def test_messages_about_the_platforms_sync_need_it(tmp_path):
    assert problems(tmp_path, flux=FLUX | {"notifications": {"chat": ALERTMANAGER}}) == [
        "Pulumi.staging.yaml: flux.notifications: "
        + said(
            "FT-CFG-820",
            "it reports on flux.sync, which is not set",
            "set flux.sync, or use tenancy.notifications for notifications about tenants",
        )
    ]


def test_notifications_need_the_controller(tmp_path):
    flux = FLUX | {"components": ["source-controller", "kustomize-controller"]}

    assert problems(tmp_path, flux=flux, **notified(**ALERTMANAGER)) == [
        "Pulumi.staging.yaml: tenants.dev-team.notifications: " + said("FT-CFG-661", "notification-controller")
    ]


def test_commit_statuses_are_about_kustomizations_and_anything_else_about_all_kinds():
    token = {"token": "t", "secretAddress": None}
    kinds = {
        name: Notification.model_validate({"type": name} | token).sent_kinds
        for name, each in PROVIDER_TYPES.items()
        if each.address is Address.REPOSITORY
    }

    assert {name for name, sent in kinds.items() if sent == ("Kustomization",)} == set(COMMIT_STATUSES)
    assert {sent for name, sent in kinds.items() if name not in COMMIT_STATUSES} == {ALL_KINDS}
