"""Addresses of configured notifications."""

import pytest

from flux_tenancy.components.config.messages import code_of
from flux_tenancy.components.policies.config import AllowedNotifications
from flux_tenancy.components.policies.notifications import refused_address


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
