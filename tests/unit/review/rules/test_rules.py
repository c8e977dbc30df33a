"""The rules over a whole render: samples that are in order break none, and waivers allow what they are for."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from sample_keys import openpgp_public_key
from sample_project import encrypted, rendered, tenant
from sample_sops_keys import age_identity
from sample_sources import authority, signing_key
from sample_stack import CLUSTER, FLUX

from flux_tenancy.components.config.decisions import today
from flux_tenancy.components.policies.config import PolicyEngine, PolicyMode
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.decisions import WAIVABLE, RuleName, Waiver
from flux_tenancy.review.rules.findings import Finding
from flux_tenancy.review.rules.setting import RuleSetting
from flux_tenancy.review.rules.table import RULES, findings

EXPIRES = today() + timedelta(days=30)


def waiver(rule: RuleName, expires: date = EXPIRES, **keys: Any) -> Waiver:
    return Waiver.model_validate({"rule": rule, "reason": "Until the rollout ends.", "expires": expires} | keys)


def setting(stack: str = "production", **sections: Any) -> RuleSetting:
    return RuleSetting.of(stack, StackConfig.model_validate({"cluster": CLUSTER, "flux": FLUX} | sections))


def test_a_stack_in_order_breaks_no_rule(tmp_path):
    render = rendered(tmp_path / "project", tenants={"dev-team": tenant("dev-team", "apps") | {"role": "admin"}})

    assert findings(render.objects, setting()) == ()


def test_credentials_of_every_kind_break_no_rule(tmp_path):
    sources = {
        "key": tenant("key", "key")["source"] | {"webhook": {"type": "generic-hmac"}},
        "password": {"https": {"password": encrypted("password")}, "certificateAuthority": authority()},
        "token": {"https": {"bearerToken": encrypted("token")}},
        "app": {"githubApp": {"appId": 1, "installationId": 2, "privateKey": encrypted("app")}},
        "signed": {"verify": {"keys": {"alice": openpgp_public_key(), "bob": signing_key("bob")}}},
    }
    decryption = {
        "age": {"identities": encrypted("age"), "recipients": [age_identity("of key").recipient]},
        "openpgp": {"privateKeys": encrypted("openpgp"), "fingerprints": ["A" * 40]},
    }
    tenants = {
        name: {
            "namespaces": [{"name": name}],
            "source": {"url": f"https://git.example.com/{name}/apps"} | source,
            "sync": {"path": "./staging", "decryption": decryption} if name == "key" else {"path": "./staging"},
        }
        for name, source in sources.items()
    }
    render = rendered(
        tmp_path / "project",
        tenants=tenants,
        policies={"sources": {"allowed": ["ssh://git@git.example.com/*", "https://git.example.com/*"]}},
        flux={"webhookUrl": "https://hooks.example.com"},
    )

    secrets = [each.name for each in render.objects if each.kind == "Secret" and each.owner in sources]
    assert sorted(secrets) == [
        "app-git",
        "key-git",
        "key-sops",
        "key-webhook",
        "password-git",
        "signed-signers",
        "token-git",
    ]
    assert findings(render.objects, setting()) == ()


def test_a_stack_that_breaks_several_rules_shows_all_of_them(tmp_path):
    cluster_admin = tenant("dev-team", "apps") | {"role": "cluster-admin"}
    render = rendered(tmp_path / "project", tenants={"dev-team": cluster_admin}, policies={"engine": "none"})

    found = findings(render.objects, setting(policies={"engine": "none", "mode": "audit"}))

    assert [(each.rule, each.owner, each.resource, each.message.code) for each in found] == [
        (RuleName.ADMIN_BINDING, "dev-team", "RoleBinding apps/dev-team-reconciler", "FT-REV-101"),
        (RuleName.NO_POLICY_ENGINE, "platform", "policies.engine", "FT-REV-109"),
        (RuleName.POLICY_NOT_ENFORCED, "platform", "policies.mode", "FT-REV-110"),
    ]


def test_every_rule_that_can_be_waived_is_one_of_the_rules():
    assert set(RULES) | {RuleName.PROTECTED_DELETION} == set(RuleName)
    assert set(WAIVABLE) < set(RuleName)


def test_the_setting_is_read_from_the_stack():
    found = setting(
        "eu-1",
        cluster=CLUSTER | {"production": True},
        flux=FLUX | {"profile": "single-tenant", "defaultServiceAccount": "flux"},
        policies={"engine": "none", "modes": {"allowed-sources": "audit", "no-kubeconfig": "enforce"}},
        review={"waivers": [waiver(RuleName.NO_POLICY_ENGINE).model_dump(mode="json")]},
    )

    assert (found.production, found.engine, found.locked_down, found.default_account) == (
        True,
        PolicyEngine.NONE,
        False,
        "flux",
    )
    assert found.weakened == {"policies.modes.allowed-sources": PolicyMode.AUDIT}
    assert [each.rule for each in found.waivers] == [RuleName.NO_POLICY_ENGINE]


def audited(*waivers: Waiver) -> list[Finding]:
    """The findings of a production environment with two audited policies."""
    modes = {f"policies.modes.{name}": PolicyMode.AUDIT for name in ("allowed-sources", "no-kubeconfig")}
    return [*findings((), RuleSetting(production=True, weakened=modes, waivers=waivers))]


def test_a_waiver_without_a_resource_allows_the_rule_for_the_whole_stack():
    allowing = waiver(RuleName.POLICY_NOT_ENFORCED)

    assert [each.waiver for each in audited(allowing)] == [allowing, allowing]


def test_a_waiver_with_a_resource_allows_only_that():
    allowing = waiver(RuleName.POLICY_NOT_ENFORCED, resource="policies.modes.no-kubeconfig")

    assert [each.waiver for each in audited(allowing)] == [None, allowing]


def test_a_waiver_of_another_rule_allows_nothing():
    assert [each.waiver for each in audited(waiver(RuleName.NO_POLICY_ENGINE))] == [None, None]


@pytest.mark.parametrize("order", [1, -1])
def test_of_several_waivers_the_one_that_lasts_longest_counts(order):
    longer = waiver(RuleName.POLICY_NOT_ENFORCED, EXPIRES + timedelta(days=1))
    both = [waiver(RuleName.POLICY_NOT_ENFORCED), longer][::order]

    assert [each.waiver for each in audited(*both)] == [longer, longer]
