"""The policy pack, asked as the engine asks it: each rule refuses what it is for, before it is applied."""

from __future__ import annotations

from base64 import b64encode
from datetime import timedelta

import pytest
from sample_pack import UNKNOWN, Pack, rules, secret

from flux_tenancy.components.config.decisions import today
from flux_tenancy.components.config.errors import ConfigurationError, Problem
from flux_tenancy.components.git.github import DEPLOY_KEY_TYPE
from flux_tenancy.components.installs.flux.lockdown_flags import arguments_for
from flux_tenancy.components.policies.config import PolicyEngine, PolicyMode
from flux_tenancy.components.stack.review import RuleName, Waiver
from flux_tenancy.components.vocabulary.names import TENANT_LABEL, Controller
from flux_tenancy.review.rules.setting import RuleSetting
from tests.support.releases import FLUX_VERSION

RBAC = "rbac.authorization.k8s.io/v1"
NAMESPACE = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "apps", "labels": {TENANT_LABEL: "dev-team"}},
}
ROLE = {
    "apiVersion": RBAC,
    "kind": "ClusterRole",
    "metadata": {"name": "wide"},
    "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
}
SECRET_TYPE = "kubernetes:core/v1:Secret"


def binding(role, name="powerful"):
    return {
        "apiVersion": RBAC,
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": "apps"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": "dev-team", "namespace": "apps"}],
    }


def said_of(*objects, setting=None, **options):
    """The rules that objects break, one after the other."""
    pack = Pack(setting or RuleSetting())
    return [rule for each in objects for rule in rules(pack.object(each, **options))]


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_a_binding_is_judged_once_whichever_of_it_its_role_and_its_namespace_comes_last(order):
    objects = (NAMESPACE, ROLE, binding("wide"))

    assert said_of(*(objects[index] for index in order)) == ["admin-binding"]


def test_every_binding_is_judged():
    assert said_of(NAMESPACE, binding("cluster-admin"), binding("cluster-admin", "another")) == ["admin-binding"] * 2
    assert said_of(NAMESPACE, binding("admin"), binding("cluster-admin", "another")) == ["admin-binding"]


def test_a_binding_of_all_accounts_is_told_once_of_each_tenant():
    everyone = {"kind": "Group", "name": "system:serviceaccounts", "apiGroup": "rbac.authorization.k8s.io"}
    of_cluster = binding("cluster-admin") | {
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "powerful"},
        "subjects": [everyone],
    }
    own, other = (
        NAMESPACE | {"metadata": {"name": name, "labels": {TENANT_LABEL: tenant}}}
        for name, tenant in (("tools", "dev-team"), ("shop", "shop-team"))
    )

    assert said_of(NAMESPACE, of_cluster, own) == ["admin-binding"]
    assert said_of(NAMESPACE, of_cluster, own, other) == ["admin-binding"] * 2


def test_a_violation_names_rule_resource_and_remedy_and_is_mandatory():
    pack = Pack(RuleSetting())
    pack.object(NAMESPACE)
    pack.object(binding("cluster-admin"))

    [(level, message)] = pack.said

    assert level == "mandatory"
    assert message.startswith(
        "admin-binding: RoleBinding apps/powerful grants ServiceAccount apps/dev-team all rights in "
    )
    assert "(FT-REV-101)\nremedy: bind a role with fewer rights" in message


@pytest.mark.parametrize(("read_only", "broken"), [(True, []), (False, ["writable-deploy-key"])])
def test_a_deploy_key_has_to_be_read_only(read_only, broken):
    properties = {"repository": "apps", "title": "dev-team", "key": UNKNOWN, "readOnly": read_only}

    assert list(rules(Pack(RuleSetting()).register(DEPLOY_KEY_TYPE, "dev-team", properties))) == broken


def registered_secret(data, **options):
    metadata = {"namespace": "apps", "labels": {TENANT_LABEL: "dev-team"}}
    properties = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
    return Pack(RuleSetting()).register(SECRET_TYPE, "dev-team-git", properties, **options)


PRIVATE = b64encode(b"pa55word").decode()


@pytest.mark.parametrize(
    "data",
    [
        secret({"password": PRIVATE}),
        {"password": secret(PRIVATE)},
        {"password": UNKNOWN},
        UNKNOWN,
        secret(UNKNOWN),
    ],
)
def test_a_secret_that_is_marked_or_not_known_yet_is_not_in_plain_text(data):
    assert registered_secret(data) == []


def test_a_secret_that_is_not_marked_is_in_plain_text():
    [message] = registered_secret({"password": PRIVATE, "username": PRIVATE})

    assert message.startswith("plain-secret: Secret apps/dev-team-git has password in plain text")
    assert "pa55word" not in message and PRIVATE not in message


def test_a_secret_that_nobody_has_looked_at_is_not_passed():
    [message] = registered_secret(secret({"password": PRIVATE}), look=False)

    assert "(FT-REV-114)" in message


def test_a_tenant_in_a_reserved_namespace_is_refused():
    reserved = NAMESPACE | {"metadata": {"name": "kube-system", "labels": {TENANT_LABEL: "dev-team"}}}

    assert said_of(NAMESPACE) == []
    assert said_of(reserved) == ["reserved-namespace"]


def deployment(*arguments):
    labels = {"app.kubernetes.io/component": "source-controller", "app.kubernetes.io/version": f"v{FLUX_VERSION}"}
    containers = [{"name": "manager", "args": list(arguments)}]
    metadata = {"name": "source-controller", "namespace": "flux-system", "labels": labels}
    spec = {"template": {"spec": {"containers": containers}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def test_flags_of_controllers_are_judged():
    complete = arguments_for(Controller.SOURCE, "default", FLUX_VERSION)

    assert said_of(deployment(*complete)) == []
    assert said_of(deployment(*complete[1:])) == ["lockdown-flags"]
    assert said_of(deployment(*complete, "--no-remote-bases=true")) == ["lockdown-flags"]


def test_policies_of_production_are_judged_with_the_stack_before_anything_else():
    weakened = {"policies.mode": PolicyMode.AUDIT}
    pack = Pack(RuleSetting(production=True, engine=PolicyEngine.NONE, weakened=weakened))

    assert list(rules(pack.stack())) == ["no-policy-engine", "policy-not-enforced"]
    assert pack.object(NAMESPACE) == []
    assert Pack(RuleSetting(production=True)).stack() == []


def test_namespaces_of_a_protected_stack_have_to_be_registered_with_protection():
    protected = RuleSetting(protected=True)

    assert said_of(NAMESPACE, setting=protected) == ["protected-deletion"]
    assert said_of(NAMESPACE, setting=protected, protect=True) == said_of(NAMESPACE) == []


def test_what_is_waived_is_shown_and_not_mandatory():
    expires = today() + timedelta(days=30)
    waiver = Waiver(rule=RuleName.NO_POLICY_ENGINE, reason="A lab\nof ours.", expires=expires)
    pack = Pack(RuleSetting(production=True, engine=PolicyEngine.NONE, waivers=(waiver,)))

    pack.stack()

    [(level, message)] = pack.said
    assert level == "advisory"
    assert message.startswith("no-policy-engine: policies.engine is none in a production environment")
    assert message.endswith(f"\nwaived until {expires}: A lab of ours.")


def test_a_stack_whose_configuration_has_errors_does_not_pass_and_says_so_once():
    asked = []

    def setting_of(urn):
        asked.append(urn)
        raise ConfigurationError([Problem("Pulumi.production.yaml", "review", "is wrong")])

    pack = Pack(setting_of)
    pack.stack()
    pack.object(NAMESPACE)

    [(level, message)] = pack.said
    assert (
        level == "mandatory"
        and "has errors (1), so it cannot be checked against the review rules; correct them (FT-REV-121)" in message
    )
    assert len(asked) == 1
