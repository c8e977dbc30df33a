"""Hosts of configured notifications, by the table that also holds both engines to them."""

import pytest

from flux_tenancy.components.config.messages import code_of
from flux_tenancy.components.policies.config import AllowedNotifications
from flux_tenancy.components.policies.notifications import refused_address, unlisted_host
from tests.support.allow_lists import HOSTS

SLACK = AllowedNotifications.model_validate({"hosts": ["hooks.slack.com"], "plainHttp": True})


@pytest.mark.parametrize(("entry", "address", "allowed"), HOSTS)
def test_a_host_is_found_and_compared_as_admission_does(entry, address, allowed):
    rules = AllowedNotifications()
    refused = (refused_address(rules, "generic", address), unlisted_host(rules, (entry,), "generic", address))

    assert (refused == (None, None)) is allowed


@pytest.mark.parametrize(
    ("provider", "address"),
    [
        ("github", "ssh://git@github.com/org/app"),
        ("gitea", "https://git.example.com/org/app.git"),
        ("nats", "tls://nats.example.com:4222"),
        ("telegram", None),
        ("datadog", None),
        ("alertmanager", None),
    ],
)
def test_a_type_contacts_the_host_that_flux_does(provider, address):
    assert refused_address(AllowedNotifications(), provider, address) is None


@pytest.mark.parametrize(
    ("provider", "address", "code"),
    [
        ("generic", "ssh://git@github.com/org/app", "FT-MSG-040"),
        ("github", "tls://github.com", "FT-MSG-040"),
        ("nats", "nats://nats.example.com:4222", "FT-MSG-041"),
    ],
)
def test_a_scheme_of_another_type_and_one_without_tls_are_refused(provider, address, code):
    assert code_of(refused_address(AllowedNotifications(), provider, address)) == code


@pytest.mark.parametrize(
    ("provider", "address", "host"),
    [
        ("telegram", None, "api.telegram.org"),
        ("datadog", None, "api.datadoghq.com"),
        ("bitbucket", "https://hooks.slack.com/org/app", "api.bitbucket.org"),
        ("slack", "https://hooks.slack.example.com/services/T0/pa55word", "hooks.slack.example.com"),
    ],
)
def test_a_host_that_neither_list_has_is_found(provider, address, host):
    assert unlisted_host(SLACK, ("*.example.org",), provider, address) == host


def test_the_lists_of_the_stack_and_of_the_tenant_add_up():
    own = ("*.example.org",)

    assert unlisted_host(SLACK, own, "generic", "http://hooks.slack.com/a") is None
    assert unlisted_host(SLACK, own, "generic", "https://alerts.example.org/a") is None
    assert refused_address(SLACK, "generic", "http://hooks.slack.com/a") is None


def test_nothing_is_said_of_an_address_that_is_in_a_secret():
    assert unlisted_host(SLACK, (), "generic", None) is None
