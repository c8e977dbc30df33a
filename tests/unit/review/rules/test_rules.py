"""The rules over a whole render: samples that are in order break none, and waivers allow what they are for."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
from sample_keys import openpgp_public_key
from sample_objects import home, kubernetes, rendered_object
from sample_project import encrypted, rendered, tenant
from sample_sops_keys import age_identity
from sample_sources import authority, signing_key
from sample_stack import CLUSTER, FLUX

from flux_tenancy.components.config.types import today
from flux_tenancy.components.installs.flux.lockdown_flags import LOCKDOWN_FLAGS
from flux_tenancy.components.policies.config import PolicyEngine, PolicyMode
from flux_tenancy.components.stack.config import WAIVABLE, RuleName, StackConfig, Waiver
from flux_tenancy.components.vocabulary.names import Controller
from flux_tenancy.review.rules.table import (
    RULES,
    Finding,
    RuleSetting,
    findings,
    lockdown_flags,
    missing_engine,
    policies_not_enforced,
    protected_deletions,
)
from tests.support.messages import values_of
from tests.support.releases import FLUX_VERSION

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
        (RuleName.NO_POLICY_ENGINE, "platform", "policies.engine", "FT-REV-110"),
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


ALL = waiver(RuleName.POLICY_NOT_ENFORCED)
LONGER = waiver(RuleName.POLICY_NOT_ENFORCED, EXPIRES + timedelta(days=1))
ONE = waiver(RuleName.POLICY_NOT_ENFORCED, resource="policies.modes.no-kubeconfig")
OTHER = waiver(RuleName.NO_POLICY_ENGINE)


@pytest.mark.parametrize(
    ("waivers", "allowing"),
    [
        ([ALL], [ALL, ALL]),
        ([ONE], [None, ONE]),
        ([OTHER], [None, None]),
        ([ALL, LONGER], [LONGER, LONGER]),
        ([LONGER, ALL], [LONGER, LONGER]),
    ],
    ids=["for the whole stack", "for a resource", "for another rule", "the longest, last", "the longest, first"],
)
def test_a_waiver_allows_its_rule_for_its_resource(waivers, allowing):
    assert [each.waiver for each in audited(*waivers)] == allowing


CRD = kubernetes("CustomResourceDefinition", "gitrepositories.source.toolkit.fluxcd.io", "", "platform")
FLUX_NAMESPACE = kubernetes("Namespace", "flux-system", "", "platform")
SYNC = kubernetes("Kustomization", "dev-team", "apps")
CONFIG_MAP = kubernetes("ConfigMap", "vaults", "flux-system", "platform")
STANDING = [*(replace(each, protected=True) for each in (FLUX_NAMESPACE, CRD, home())), SYNC, CONFIG_MAP]


@pytest.mark.parametrize("engine", PolicyEngine)
def test_production_needs_a_policy_engine(engine):
    found = list(missing_engine((), RuleSetting(production=True, engine=engine)))

    codes = [(each.resource, each.message.code) for each in found]
    assert codes == ([("policies.engine", "FT-REV-110")] if engine is PolicyEngine.NONE else [])
    assert list(missing_engine((), RuleSetting(engine=engine))) == []


def test_production_enforces_its_policies_and_other_environments_may_audit():
    weakened = {"policies.mode": PolicyMode.AUDIT, "policies.modes.host-access": PolicyMode.OFF}

    found = list(policies_not_enforced((), RuleSetting(production=True, weakened=weakened)))

    assert [(each.resource, each.message.code, values_of(each.message)[0]) for each in found] == [
        ("policies.mode", "FT-REV-110", "audit"),
        ("policies.modes.host-access", "FT-REV-110", "off"),
    ]
    assert list(policies_not_enforced((), RuleSetting(production=True))) == []
    assert list(policies_not_enforced((), RuleSetting(weakened=weakened))) == []


def deleted(*remaining, before=STANDING):
    """Owner, resource and code of each protected object that a change deletes or replaces."""
    found = protected_deletions(before, remaining)
    return [(each.owner, each.resource, each.message.code) for each in found]


FLUX_DELETED = ("platform", "Namespace flux-system", "FT-REV-111")
CRD_DELETED = ("platform", "CustomResourceDefinition gitrepositories.source.toolkit.fluxcd.io", "FT-REV-111")
APPS_DELETED = ("dev-team", "Namespace apps", "FT-REV-111")
RENAMED = rendered_object(home().manifest, "dev-team", resource="another-name")
OTHER_VERSION = rendered_object(CRD.manifest | {"apiVersion": "example.com/v1beta1"})


@pytest.mark.parametrize(
    ("remaining", "found"),
    [
        (STANDING, []),
        ([FLUX_NAMESPACE, CRD, home()], []),
        ([], [FLUX_DELETED, CRD_DELETED, APPS_DELETED]),
        ([FLUX_NAMESPACE, OTHER_VERSION, RENAMED, SYNC], [CRD_DELETED, APPS_DELETED]),
    ],
    ids=["all stay", "what is protected stays", "deleted", "replaced"],
)
def test_the_deletion_or_replacement_of_a_protected_object_breaks_the_rule(remaining, found):
    assert deleted(*remaining) == found
    assert deleted(*remaining, before=[replace(each, protected=False) for each in STANDING]) == []


SETTING = RuleSetting()


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    components = [controller.value for controller in Controller if controller is not Controller.SOURCE_WATCHER]
    return rendered(tmp_path_factory.mktemp("flags") / "project", flux={"components": components}).objects


def broken(objects, controller, change, setting=SETTING):
    """Code and flag of each finding after a change of a controller's arguments."""
    changed = deepcopy(objects)
    [deployment] = [each for each in changed if each.kind == "Deployment" and each.name == controller]
    container = deployment.manifest["spec"]["template"]["spec"]["containers"][0]
    container["args"] = change(container["args"])
    found = list(lockdown_flags(changed, setting))
    assert {each.resource for each in found} <= {f"Deployment flux-system/{controller}"}
    return [(each.message.code, values_of(each.message)[0]) for each in found]


def without(name):
    return lambda arguments: [each for each in arguments if not each.startswith(f"--{name}")]


def test_a_render_of_the_profile_has_its_flags_on_every_controller_that_knows_them(objects):
    assert list(lockdown_flags(objects, SETTING)) == []
    assert {each.name for each in objects if each.kind == "Deployment"} >= {"kustomize-controller", "source-controller"}


@pytest.mark.parametrize(
    ("controller", "name"),
    sorted(
        (controller, flag.name)
        for flag in LOCKDOWN_FLAGS
        if flag.holds_for(FLUX_VERSION)
        for controller in flag.controllers
        if controller in ("helm-controller", "kustomize-controller", "notification-controller", "source-controller")
    ),
)
def test_a_controller_that_lacks_a_flag_breaks_the_rule(objects, controller, name):
    found = broken(objects, controller, without(name))

    assert found and {code for code, _ in found} == {"FT-REV-106"}
    assert all(argument.startswith(f"--{name}=") for _, argument in found)


@pytest.mark.parametrize(
    ("argument", "missing"),
    [
        ("--no-cross-namespace-refs=false", "--no-cross-namespace-refs=true"),
        ("--default-service-account=kustomize-controller", "--default-service-account=default"),
        ("--feature-gates=CancelHealthCheckOnNewRevision=false", "--feature-gates=CancelHealthCheckOnNewRevision=true"),
    ],
)
def test_the_last_value_of_a_flag_counts(objects, argument, missing):
    found = broken(objects, "kustomize-controller", lambda arguments: [*arguments, argument])

    assert ("FT-REV-106", missing) in found
    assert broken(objects, "kustomize-controller", lambda arguments: [argument, *arguments]) == []


def with_more_gates(arguments):
    gates = next(each for each in arguments if each.startswith("--feature-gates="))
    return [*arguments, f"{gates},Another=true"]


def with_a_bare_flag(arguments):
    return [each.removesuffix("=true") if "no-remote-bases" in each else each for each in arguments]


@pytest.mark.parametrize("change", [with_more_gates, with_a_bare_flag])
def test_further_feature_gates_and_a_flag_without_a_value_break_nothing(objects, change):
    assert broken(objects, "kustomize-controller", change) == []


@pytest.mark.parametrize(
    ("controller", "argument", "found"),
    [
        ("source-controller", "--no-cross-namespace-refs=true", ["no-cross-namespace-refs"]),
        ("kustomize-controller", "--insecure-kubeconfig-exec=true", ["insecure-kubeconfig-exec"]),
        ("kustomize-controller", "--insecure-kubeconfig-exec", ["insecure-kubeconfig-exec"]),
        ("kustomize-controller", "--sops-age-secret=sops-age", ["sops-age-secret"]),
        ("kustomize-controller", "--insecure-kubeconfig-exec=false", []),
    ],
)
def test_a_flag_that_undoes_the_profile_or_that_the_controller_does_not_know_breaks_the_rule(
    objects, controller, argument, found
):
    assert broken(objects, controller, lambda arguments: [*arguments, argument]) == [
        ("FT-REV-108", name) for name in found
    ]


def test_the_account_of_the_stack_is_expected(objects):
    found = list(lockdown_flags(objects, RuleSetting(default_account="flux")))

    assert {values_of(each.message)[0] for each in found} == {"--default-service-account=flux"}
    assert {each.resource for each in found} == {
        "Deployment flux-system/helm-controller",
        "Deployment flux-system/kustomize-controller",
    }


def test_the_single_tenant_profile_needs_no_flags(objects):
    assert broken(objects, "kustomize-controller", lambda _: [], RuleSetting(locked_down=False)) == []
