"""Access of people: the roles, their bindings, and what the configuration refuses."""

import pytest
from sample_plan import room_for, tenant_objects
from sample_stack import load, problems, refusals, tenant_config

from flux_tenancy.components.cluster.config import Subject
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.tenant.people import AUDITOR, DEVELOPER, VIEWER, TenantPeople, auditor_access, people_roles

GROUP = {"kind": "Group", "name": "oidc:dev-team"}
USER = {"kind": "User", "name": "ann@example.com"}
RBAC = "rbac.authorization.k8s.io"
EVERYBODY = TenantPeople.model_validate({"viewers": [GROUP], "developers": [USER]})


def rights(role):
    """What a role allows, as `verb resource.group`."""
    return {
        f"{verb} {resource}.{group}".rstrip(".")
        for rule in role["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def roles(**tenancy):
    found = people_roles(TenancyConfig.model_validate(tenancy), [EVERYBODY])
    return {each["metadata"]["name"]: rights(each) for each in found}


def auditor(**tenancy):
    [role, _] = auditor_access([Subject.model_validate(GROUP)], TenancyConfig.model_validate(tenancy))
    return rights(role)


def test_nobody_has_access_by_default():
    objects = tenant_objects("dev-team", tenant_config(), TenancyConfig())

    assert objects.people == []
    assert people_roles(TenancyConfig(), [TenantPeople()]) == []
    assert auditor_access((), TenancyConfig()) == []


def test_people_are_bound_in_each_namespace_of_their_tenant():
    config = tenant_config(namespaces=[{"name": "apps"}, {"name": "apps-jobs"}], people=EVERYBODY)

    found = tenant_objects("dev-team", config, TenancyConfig()).people

    assert [(each["kind"], each["metadata"]["namespace"], each["metadata"]["name"]) for each in found] == [
        ("RoleBinding", namespace, f"dev-team-{people}")
        for namespace in ("apps", "apps-jobs")
        for people in ("viewers", "developers")
    ]
    assert found[0]["roleRef"] == {"apiGroup": RBAC, "kind": "ClusterRole", "name": VIEWER}
    assert found[0]["subjects"] == [GROUP | {"apiGroup": RBAC}]
    assert (found[1]["roleRef"]["name"], found[1]["subjects"]) == (DEVELOPER, [USER | {"apiGroup": RBAC}])
    assert all(each["metadata"]["labels"] == {"toolkit.fluxcd.io/tenant": "dev-team"} for each in found)


def test_only_roles_that_are_bound_exist():
    viewers = TenantPeople.model_validate({"viewers": [GROUP]})

    assert [each["metadata"]["name"] for each in people_roles(TenancyConfig(), [viewers])] == [VIEWER]


def test_no_role_has_a_wildcard_or_reads_secrets_or_creates_anything():
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    for found in (*roles(extraRules=[everything]).values(), auditor(extraRules=[everything])):
        assert not [each for each in found if "*" in each or "secrets" in each or "proxy" in each]
        assert {each.split()[0] for each in found} <= {"get", "list", "watch", "patch"}


def test_a_viewer_only_reads_and_sees_no_logs():
    found = roles()[VIEWER]

    assert {each.split()[0] for each in found} == {"get", "list", "watch"}
    assert "get pods/log" not in found
    assert {"list pods", "get kustomizations.kustomize.toolkit.fluxcd.io", "watch events"} <= found


def test_a_developer_is_a_viewer_who_reads_logs_and_patches_flux_objects():
    found = roles()

    more = found[DEVELOPER] - found[VIEWER]
    assert found[VIEWER] < found[DEVELOPER]
    assert {each for each in more if not each.startswith("patch ")} == {"get pods/log"}
    assert {each.partition(".")[2] for each in more if each.startswith("patch ")} == {
        "helm.toolkit.fluxcd.io",
        "image.toolkit.fluxcd.io",
        "kustomize.toolkit.fluxcd.io",
        "notification.toolkit.fluxcd.io",
        "source.extensions.fluxcd.io",
        "source.toolkit.fluxcd.io",
    }


def test_developers_run_commands_in_pods_only_if_the_stack_allows_it():
    before, after = roles(), roles(people={"exec": True})

    assert before[VIEWER] == after[VIEWER]
    assert after[DEVELOPER] - before[DEVELOPER] == {
        f"{verb} pods/{part}" for verb in ("create", "get") for part in ("exec", "portforward")
    }


@pytest.mark.parametrize(
    ("rule", "added"),
    [
        (
            {"apiGroups": ["example.com"], "resources": ["databases"], "verbs": ["*"]},
            {"get databases.example.com", "list databases.example.com", "watch databases.example.com"},
        ),
        (
            {"apiGroups": ["example.com"], "resources": ["databases"], "verbs": ["create", "get"]},
            {"get databases.example.com"},
        ),
        ({"apiGroups": ["", "*"], "resources": ["secrets", "pods/exec", "*"], "verbs": ["get"]}, set()),
        ({"apiGroups": ["example.com"], "resources": ["databases"], "verbs": ["delete"]}, set()),
    ],
)
def test_people_may_read_what_the_stacks_own_rules_let_tenants_read(rule, added):
    assert roles(extraRules=[rule])[VIEWER] - roles()[VIEWER] == added
    assert auditor(extraRules=[rule]) - auditor() == added


def test_auditors_read_the_whole_cluster():
    [role, binding] = auditor_access([Subject.model_validate(USER)], TenancyConfig())

    assert (binding["kind"], binding["roleRef"]["name"], binding["subjects"]) == (
        "ClusterRoleBinding",
        AUDITOR,
        [USER | {"apiGroup": RBAC}],
    )
    assert role["metadata"]["name"] == AUDITOR
    assert roles()[VIEWER] < auditor()
    assert {"list clusterroles.rbac.authorization.k8s.io", "get nodes", "get pods/log"} <= auditor()


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (GROUP | {"name": "system:masters"}, " FT-CFG-184"),
        (GROUP | {"name": "system:authenticated"}, " FT-CFG-184"),
        (USER | {"name": "system:serviceaccount:other:flux"}, " FT-CFG-184"),
        (GROUP | {"name": ""}, ".name FT-CFG-010"),
        ({"kind": "ServiceAccount", "name": "ci"}, ".kind FT-CFG-606"),
        ({"name": "ci"}, ".kind FT-CFG-605"),
        (USER | {"namespace": "ci"}, ".namespace FT-CFG-602"),
    ],
)
def test_only_users_and_groups_of_an_identity_provider_are_people(tmp_path, subject, expected):
    found = refusals(tmp_path, tenants={"dev-team": {"people": {"viewers": [subject]}}})

    assert found == [f"tenants.dev-team.people.viewers[0]{expected}"]


DEVELOPERS = {"dev-team": {"people": {"developers": [USER], "viewers": [GROUP]}}}


@pytest.mark.parametrize("policies", [{"engine": "none"}, {"mode": "audit"}, {"modes": {"flux-requests": "off"}}])
def test_developers_need_the_policy_that_limits_their_patches(tmp_path, policies):
    [problem] = problems(tmp_path, tenants=DEVELOPERS, policies=policies)

    assert "flux-requests" in problem
    found = refusals(tmp_path, tenants=DEVELOPERS, policies=policies)
    assert found == ["tenants.dev-team.people.developers FT-TEN-421"]


@pytest.mark.parametrize(
    ("policies", "developers"),
    [({}, True), ({"mode": "audit", "modes": {"flux-requests": "enforce"}}, True), ({"engine": "none"}, False)],
)
def test_viewers_and_limited_developers_are_accepted(tmp_path, policies, developers):
    people = {"viewers": [GROUP]} | ({"developers": [USER]} if developers else {})

    stack = load(tmp_path, tenants={"dev-team": {"people": people}}, policies=policies)

    assert stack.has_developers is developers


def test_people_of_a_leaving_tenant_have_no_access(tmp_path):
    stack = load(tmp_path, tenants={"dev-team": {"state": "leaving", **DEVELOPERS["dev-team"]}})

    assert not stack.has_developers


def test_a_service_account_of_a_tenant_is_no_auditor(tmp_path):
    account = {"kind": "ServiceAccount", "name": "audit", "namespace": "apps"}
    cluster = {"kubeconfig": "kubeconfig", "auditors": [USER, account]}

    found = refusals(tmp_path, cluster=cluster, tenants={"dev-team": {}})

    assert found == ["cluster.auditors[1].namespace FT-CFG-679"]


def test_the_bindings_of_people_count_against_no_limit_of_the_tenant():
    bindings = "count/rolebindings.rbac.authorization.k8s.io"

    alone, joined = (room_for(tenant_config(**more), "apps") for more in ({}, {"people": EVERYBODY}))

    assert joined == alone | {bindings: alone[bindings] + 2}
