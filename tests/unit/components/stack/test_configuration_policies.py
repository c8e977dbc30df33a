"""The policies of a stack: what is refused by itself, and what does not go with the rest of the stack."""

from typing import Any

import pytest
from sample_stack import load
from sample_stack import problems as problems_of

from flux_tenancy.components.allowlists.entries import problem_of
from tests.support.messages import said

URL = "https://git.example.com/dev-team/apps"
TENANT: dict[str, Any] = {"dev-team": {}}
ELSEWHERE = ["https://git.example.com/ops-team/*"]


def problems(project, policies, tenant=None):
    return problems_of(project, tenants={"dev-team": tenant or {}}, policies=policies)


@pytest.mark.parametrize(
    "policies",
    [
        None,
        {},
        {"sources": {"allowed": ["https://git.example.com/dev-team/*"]}},
        {"sources": {"allowed": []}},
        {"sources": {"allowed": ["*"]}},
        {"sources": {"allowed": [URL]}},
        {"sources": {"allowed": [URL + ".git"]}},
        {"sources": {"allowed": ELSEWHERE}, "engine": "none"},
        {"sources": {"allowed": ELSEWHERE}, "modes": {"allowed-sources": "off"}},
        {"sources": {"verified": ["OCIRepository"]}},
        {"minimumInterval": "1m"},
        {"minimumInterval": "1h", "modes": {"reconciliation-interval": "off"}},
        {"maximumTimeout": "5m"},
        {"maximumTimeout": "1s", "modes": {"reconciliation-timeout": "off"}},
        {"podDefaults": "restricted"},
        {"roles": True, "networkPolicies": True, "modes": {"host-access": "audit"}},
    ],
)
def test_a_stack_that_goes_with_its_policies_is_taken(tmp_path, policies):
    load(tmp_path, tenants=TENANT, policies=policies)


def test_what_a_tenant_may_have_is_added_to_what_all_may(tmp_path):
    own = {"policies": {"sources": ["https://git.example.com/dev-team/*"]}}
    load(tmp_path, tenants={"dev-team": own}, policies={"sources": {"allowed": ELSEWHERE}})


@pytest.mark.parametrize(
    "entry",
    [
        "git.example.com/dev-team/*",
        "ssh://git@git.example.com",
        "https://*.example.com/*",
        "https://git.example.com/dev-*",
        "https://git.example.com/*/apps",
        "https://user@git.example.com/dev-team/*",
        "https://GIT.example.com/dev-team/*",
        "https://git.example.com/../*",
        "https://git.example.com/a%2fb/*",
        "https://git.example.com/dev-team/*?x=1",
        "ftp://git.example.com/dev-team/*",
        "git@git.example.com:dev-team/*",
        "",
    ],
)
def test_an_allow_list_entry_that_is_no_url_pattern_is_refused(tmp_path, entry):
    [problem] = problems(tmp_path, {"sources": {"allowed": [entry]}})

    expected = said("FT-CFG-150", problem_of(entry)).of(entry)
    assert problem == f"Pulumi.staging.yaml: policies.sources.allowed[0]: {expected}"


def test_an_unknown_policy_is_refused_and_the_known_ones_are_named(tmp_path):
    [problem] = problems(tmp_path, {"modes": {"allowed-source": "audit"}})

    assert problem.startswith("Pulumi.staging.yaml: policies.modes")
    assert "allowed-source" in problem and "'allowed-sources'" in problem


def test_the_source_that_the_stack_declares_needs_no_entry_of_the_lists(tmp_path):
    own = {"policies": {"sources": ELSEWHERE}}

    load(tmp_path, policies={"sources": {"allowed": ELSEWHERE}}, tenants={"dev-team": own})


def test_a_source_that_cannot_be_compared_is_refused(tmp_path):
    url = "https://git.example.com/a/../apps"

    [problem] = problems(tmp_path, {}, {"source": {"url": url}})

    assert problem == f"Pulumi.staging.yaml: tenants.dev-team.source.url: {said('FT-CFG-150', problem_of(url))}"


def test_an_address_is_a_host_as_good_as_a_name(tmp_path):
    source = {"source": {"url": "https://[2001:db8::1]:8443/apps"}}
    load(tmp_path, tenants={"dev-team": source}, policies={"sources": {"allowed": ["https://[2001:db8::1]:8443/*"]}})


@pytest.mark.parametrize("where", ["stack", "tenant"])
def test_a_source_that_must_be_verified_says_by_whom(tmp_path, where):
    verified = ["GitRepository"]
    policies = {"sources": {"verified": verified}} if where == "stack" else {}

    [problem] = problems(tmp_path, policies, {"policies": {"verified": verified}} if where == "tenant" else None)

    reason = said("FT-CFG-676", "GitRepository", "tenants.dev-team")
    assert problem.endswith(f"source: {reason}")


@pytest.mark.parametrize(
    ("section", "key", "interval"),
    [("source", "interval", "1m"), ("sync", "interval", "10m"), ("sync", "retryInterval", "1m")],
)
def test_an_interval_that_admission_would_refuse_is_refused_before(tmp_path, section, key, interval):
    longer = {"source": {"interval": "2h"}, "sync": {"interval": "2h", "retryInterval": "2h"}}
    del longer[section][key]

    [problem] = problems(tmp_path, {"minimumInterval": "1h"}, longer)

    assert problem.endswith(
        f"{section}.{key}: {said('FT-CFG-678', 'shorter', 'policies.minimumInterval', '1h', 'more').of(interval)}"
    )


@pytest.mark.parametrize(("section", "timeout"), [("source", "60s"), ("sync", "5m")])
def test_a_timeout_that_admission_would_refuse_is_refused_before(tmp_path, section, timeout):
    shorter = {"source": {"timeout": "30s"}, "sync": {"timeout": "30s"}}
    del shorter[section]

    [problem] = problems(tmp_path, {"maximumTimeout": "59s"}, shorter)

    assert problem.endswith(
        f"{section}.timeout: {said('FT-CFG-678', 'longer', 'policies.maximumTimeout', '59s', 'less').of(timeout)}"
    )
