"""Every binding that grants a tenant or a controller of Flux something in addition is found, with what it adds."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from loopback import api_client
from sample_plan import tenant_objects
from sample_release import one, release
from sample_stack import flux_config, tenant_config
from sample_text import ESCAPES, SHOWN

from flux_tenancy.components.engine.state import State
from flux_tenancy.components.installs.flux.profile import configured
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.tenant.further_access import (
    FurtherBinding,
    TenantAccess,
    further_access,
    further_controller_access,
    read_further_access,
    read_further_controller_access,
    tenants_of,
)
from flux_tenancy.components.tenant.identity import role_binding
from flux_tenancy.components.tenant.role import TENANT_ROLE, Role, tenant_role
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

ALL = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, {"nonResourceURLs": ["*"], "verbs": ["*"]}]
ROLES: dict[tuple[str, str, str], Any] = {
    ("ClusterRole", "", TENANT_ROLE): tenant_role(TenancyConfig())["rules"],
    ("ClusterRole", "", "cluster-admin"): ALL,
    ("ClusterRole", "", "view"): [
        {"apiGroups": ["", "apps"], "resources": ["pods", "deployments"], "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]},
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["ca"], "verbs": ["get"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ],
    ("Role", "apps", "own"): [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    ("ClusterRole", "", "own"): ALL,
    ("ClusterRole", "", "crd-controller-flux-system"): one(release(), "ClusterRole", "controllers")["rules"],
}
ACCOUNT = {"kind": "ServiceAccount", "name": "dev-team", "namespace": "apps"}
TENANTS = {
    "dev-team": TenantAccess(["apps", "jobs"], tenant_objects("dev-team", tenant_config(), TenancyConfig()).access),
    "ops-team": TenantAccess(["tools"], [role_binding("ops-team", "tools", "tools", Role.CLUSTER_ADMIN, "ops-team")]),
}


def binding(
    *subjects: dict[str, str], role: str = "cluster-admin", namespace: str = "", name: str = "extra", **more: Any
) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **more}
    kind, _, role = role.rpartition("/")
    return {
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind or "ClusterRole", "name": role},
        "subjects": list(subjects),
    }


def found(*bindings: dict[str, Any]) -> dict[str, list[FurtherBinding]]:
    of_platform = [each for access in TENANTS.values() for each in access.bindings]
    return further_access(TENANTS, [*of_platform, *bindings], lambda role: ROLES.get(role, []))


def group(name: str) -> dict[str, str]:
    return {"kind": "Group", "name": name}


def user(name: str) -> dict[str, str]:
    return {"kind": "User", "name": name}


def test_the_platforms_own_bindings_are_not_further_access():
    assert found() == {}


def test_a_binding_to_cluster_admin_adds_everything():
    in_namespace = binding(ACCOUNT, namespace="apps", name="gotk-reconciler")
    in_cluster = binding(ACCOUNT, name="gotk-reconciler")

    assert [each.summary for each in found(in_namespace, in_cluster)["dev-team"]] == [
        "ClusterRoleBinding gotk-reconciler for ServiceAccount apps/dev-team: "
        "ClusterRole cluster-admin adds everything in the whole cluster",
        "RoleBinding apps/gotk-reconciler for ServiceAccount apps/dev-team: "
        "ClusterRole cluster-admin adds everything in the namespace apps",
    ]


@pytest.mark.parametrize(
    ("subject", "tenants"),
    [
        (user("system:serviceaccount:apps:dev-team"), ["dev-team"]),
        (group("system:serviceaccounts:apps"), ["dev-team"]),
        (group("system:serviceaccounts:jobs"), ["dev-team"]),
        (group("system:serviceaccounts"), ["dev-team", "ops-team"]),
        (group("system:authenticated"), ["dev-team", "ops-team"]),
        ({"kind": "ServiceAccount", "name": "default", "namespace": "jobs"}, ["dev-team"]),
        ({"kind": "ServiceAccount", "name": "dev-team", "namespace": "other"}, []),
        (user("dev-team"), []),
        (user("x-system:serviceaccount:apps:dev-team"), []),
        (user("system:serviceaccount:apps"), []),
        (group("system:serviceaccounts:other"), []),
        (group("system:masters"), []),
        (group("dev-team"), []),
    ],
)
def test_an_account_is_recognized_by_each_of_its_names_and_groups(subject, tenants):
    assert list(found(binding(group("others"), subject))) == tenants


ROLES_ADDED = "all verbs of roles.rbac.authorization.k8s.io"


@pytest.mark.parametrize(
    ("namespace", "added"),
    [
        # In its own namespace, only rights beyond the tenant's role.
        ("apps", ["get, list deployments, nodes, pods.apps"]),
        # A RoleBinding grants no URLs.
        ("other", ["get secrets named ca", "get, list deployments, deployments.apps, nodes, pods, pods.apps"]),
        ("", ["get /metrics, secrets named ca", "get, list deployments, deployments.apps, nodes, pods, pods.apps"]),
    ],
)
def test_what_a_binding_adds_depends_on_where_it_is(namespace, added):
    [only] = found(binding(ACCOUNT, role="view", namespace=namespace))["dev-team"]

    assert only.adds == (ROLES_ADDED, *added)


def test_a_binding_of_the_account_is_reported_even_if_it_adds_nothing():
    roles = [binding(ACCOUNT, role="Role/own", namespace="apps"), binding(ACCOUNT, role="gone", namespace="apps")]

    assert [(each.role, each.adds) for each in found(*roles)["dev-team"]] == [
        ("ClusterRole gone", ()),
        ("Role own", ()),
    ]
    assert found(*roles)["dev-team"][0].summary.endswith(": ClusterRole gone adds nothing more in the namespace apps")


def test_bindings_of_other_accounts_and_groups_are_reported_only_if_they_add_rights():
    harmless = {"role": "Role/own", "namespace": "apps"}
    default = {"kind": "ServiceAccount", "name": "default", "namespace": "apps"}

    assert found(binding(default, group("system:serviceaccounts:apps"), **harmless)) == {}
    assert list(found(binding(default, group("system:authenticated"), **harmless))) == ["ops-team"]


def test_nothing_is_added_to_a_tenant_with_all_rights_in_its_namespace():
    account = {"kind": "ServiceAccount", "name": "ops-team", "namespace": "tools"}

    assert [each.adds for each in found(binding(account, namespace="tools"))["ops-team"]] == [()]
    assert [each.adds for each in found(binding(account))["ops-team"]] == [("everything",)]


BOOTSTRAPPED = {"kubernetes.io/bootstrapping": "rbac-defaults"}
EVERYBODY = [
    group("system:authenticated"),
    group("system:serviceaccounts"),
    group("system:unauthenticated"),
    user("system:anonymous"),
]


def rule(resource: str, *verbs: str, groups: tuple[str, ...] = ("",), **more: Any) -> dict[str, Any]:
    return {"apiGroups": list(groups), "resources": resource.split(), "verbs": list(verbs), **more}


@pytest.mark.parametrize("everybody", EVERYBODY)
@pytest.mark.parametrize(
    ("given", "adds"),
    [
        (rule("*", "*", groups=("*",)), "everything"),
        ({"nonResourceURLs": ["*"], "verbs": ["get"]}, "get /*"),
        (rule("pods", "get"), "get pods"),
        (rule("secrets", "get", resourceNames=["ca"]), "get secrets named ca"),
        (rule("nodes", "patch"), "patch nodes"),
        (rule("nodes/proxy", "get"), "get nodes/proxy"),
        (rule("*", "list"), "list everything in the core API group"),
        (
            rule("gitrepositories", "get", groups=("source.toolkit.fluxcd.io",)),
            "get gitrepositories.source.toolkit.fluxcd.io",
        ),
        # Kubernetes and clouds bind such rights to all accounts: they reach nobody.
        (rule("selfsubjectaccessreviews", "create", groups=("authorization.k8s.io",)), None),
        ({"nonResourceURLs": ["/api/*", "/healthz"], "verbs": ["get"]}, None),
        (rule("nodes storageclasses", "get", "list", groups=("", "storage.k8s.io")), None),
    ],
)
def test_what_everybody_may_do_to_tenants_is_reported_for_each_tenant_whatever_the_binding_calls_itself(
    everybody, given, adds
):
    bound = binding(everybody, role="system:discovery", name="system:discovery", labels=BOOTSTRAPPED)

    found = further_access(TENANTS, [bound], lambda role: ROLES.get(role, [given]))

    assert {tenant: [each.adds for each in further] for tenant, further in found.items()} == (
        dict.fromkeys(TENANTS, [(adds,)]) if adds else {}
    )


def test_what_is_in_the_public_namespace_may_be_read_by_everybody():
    """As kubeadm lets anonymous users read how to join the cluster."""
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["cluster-info"], "verbs": ["get"]}
    public, other = (binding(user("system:anonymous"), namespace=each) for each in ("kube-public", "flux-system"))

    assert further_access(TENANTS, [public], lambda _: [rule]) == {}
    assert list(further_access(TENANTS, [other], lambda _: [rule])) == ["dev-team", "ops-team"]


def test_an_account_without_a_namespace_is_in_that_of_the_binding():
    default = {"kind": "ServiceAccount", "name": "default"}

    assert list(found(binding(default, namespace="jobs"))) == ["dev-team"]
    assert found(binding(default)) == {}


def test_changes_of_the_platforms_own_bindings_are_reported():
    more = role_binding("dev-team", "apps", "apps", Role.TENANT, "dev-team")
    wider = role_binding("dev-team", "apps", "apps", Role.CLUSTER_ADMIN, "dev-team")
    more["subjects"].append({"kind": "ServiceAccount", "name": "ops-team", "namespace": "tools"})

    assert [each.subject for each in found(more)["ops-team"]] == ["ServiceAccount tools/ops-team"]
    assert [each.adds for each in found(wider)["dev-team"]] == [("everything",)]


def test_a_role_is_read_once_and_only_if_needed():
    asked = []

    def rules_of(role):
        asked.append(role)
        return ROLES[role]

    bindings = [binding(ACCOUNT, role="view"), binding(ACCOUNT, role="view", name="b"), binding(user("x"), role="own")]

    further_access(TENANTS, bindings, rules_of)

    assert asked == [("ClusterRole", "", "view")]


def test_a_long_list_is_cut():
    rules = [{"apiGroups": [""], "resources": [f"r{number}"], "verbs": [f"v{number}"]} for number in range(9)]

    [only] = further_access(TENANTS, [binding(ACCOUNT)], lambda _: rules)["dev-team"]

    assert len(only.adds) == 9
    assert " adds v0 r0; v1 r1; v2 r2; v3 r3; v4 r4; v5 r5; 3 more in the whole cluster" in only.summary


def test_control_characters_in_names_are_escaped():
    """Kubernetes allows almost any string as the name of a role, binding or user."""
    rules = [{"apiGroups": [""], "resources": [f"pods{ESCAPES}"], "verbs": ["get"]}]
    group_and_user = binding(ACCOUNT, user("system:serviceaccount:apps:x\x1b[31m"), name=ESCAPES, role=f"r{ESCAPES}")

    first, second = further_access(TENANTS, [group_and_user], lambda _: rules)["dev-team"]

    assert (first.name, first.role, second.subject) == (
        SHOWN,
        f"ClusterRole r{SHOWN}",
        "User system:serviceaccount:apps:x [31m",
    )
    assert first.summary.isprintable() and second.summary.isprintable()


def test_the_platforms_bindings_are_recognized_by_their_labels():
    own = role_binding("dev-team", "apps", "apps", Role.TENANT, "dev-team")
    elsewhere = role_binding("dev-team", "tools", "tools", Role.TENANT, "dev-team")
    other = binding(ACCOUNT, namespace="apps", labels={TENANT_LABEL: "dev-team"})

    forged = [
        binding(ACCOUNT, namespace="apps", name=f"dev-team-{name}", labels={TENANT_LABEL: "dev-team"})
        for name in ("grants", "delegation")
    ]

    tenants = tenants_of(
        [own, elsewhere, other, *forged], {"apps": "dev-team", "jobs": "dev-team", "tools": "ops-team"}
    )

    assert tenants == {"dev-team": TenantAccess(["apps", "jobs"], [own]), "ops-team": TenantAccess(["tools"], [])}


def test_bindings_that_capsule_makes_of_a_tenant_are_not_reported():
    labels = {"projectcapsule.dev/managed-by": "controller"}
    provisioner = "capsule-namespace-provisioner"
    own = [
        binding(ACCOUNT, role=provisioner, name=provisioner),
        binding(ACCOUNT, role="flux-tenancy-tenant", namespace="dev-team-web", name="capsule:1", labels=labels),
    ]
    forged = [
        binding(ACCOUNT, role="view", name=provisioner),
        binding(ACCOUNT, role="view", namespace="dev-team-web", name="capsule:2", labels=labels),
        binding(ACCOUNT, role="flux-tenancy-tenant", namespace="other", name="capsule:3"),
        binding(ACCOUNT, role="flux-tenancy-tenant", namespace="flux-system", name="capsule:4", labels=labels),
        binding(ACCOUNT, role="flux-tenancy-tenant", namespace="tools", name="capsule:5", labels=labels),
        *(
            binding(subject, role="flux-tenancy-tenant", namespace="dev-team-web", name=name, labels=labels)
            for name, subject in (("capsule:6", ACCOUNT | {"name": "default"}), ("capsule:7", EVERYBODY[0]))
        ),
    ]

    assert found(*own) == {}
    assert len(found(*forged)["dev-team"]) == len(forged)


def test_bindings_that_this_update_replaces_or_deletes_are_no_further_rights():
    """In a preview, and until the end of an update, the cluster still has them as the last update applied them."""
    former = role_binding("dev-team", "apps", "apps", Role.CLUSTER_ADMIN, "dev-team")
    deleted = binding(ACCOUNT, namespace="jobs", name="dev-team-grants")
    changed = copy.deepcopy(deleted) | {"subjects": [ACCOUNT, ACCOUNT | {"name": "default"}]}
    changed["metadata"]["name"] = "dev-team-changed"
    applied = copy.deepcopy(changed) | {"subjects": [ACCOUNT]}
    state = State(
        {
            ("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding", str(n)): each
            for n, each in enumerate((former, deleted, applied))
        }
    )
    roles = "/apis/rbac.authorization.k8s.io/v1"
    answers: dict[str, Any] = {
        f"{roles}/rolebindings": {"items": [former, deleted, changed]},
        f"{roles}/clusterrolebindings": {"items": []},
        f"{roles}/clusterroles/cluster-admin": {"rules": ALL},
        f"{roles}/clusterroles/{TENANT_ROLE}": {"rules": ROLES["ClusterRole", "", TENANT_ROLE]},
    }

    with api_client(answers) as api:
        found = read_further_access(api, TENANTS, state=state)

    assert {each.name for each in found["dev-team"]} == {"dev-team-changed"}


KUSTOMIZE, HELM, SOURCE = (
    {"kind": "ServiceAccount", "name": f"{name}-controller", "namespace": "flux-system"}
    for name in ("kustomize", "helm", "source")
)
SYNC = {"source": {"url": "https://git.example.com/platform/fleet"}}
RECONCILERS = binding(KUSTOMIZE, HELM, name="cluster-reconciler-flux-system")
CRD_CONTROLLER = binding(SOURCE, KUSTOMIZE, role="crd-controller-flux-system", name="crd-controller-flux-system")
"""What `flux bootstrap` leaves: the release that the stack pins has the same under other names."""


def rights(**flux: Any) -> list[dict[str, Any]]:
    """What a stack grants to the controllers; like upstream's, the release makes two of them cluster-admin."""
    accounts = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": each["name"], "namespace": "flux-system"}}
        for each in (KUSTOMIZE, HELM)
    ]
    return configured([*release(), *accounts, binding(KUSTOMIZE, HELM, name="cluster-reconciler")], flux_config(**flux))


def of_controllers(*bindings: dict[str, Any], **flux: Any) -> list[str]:
    further = further_controller_access(rights(**flux), bindings, lambda role: ROLES.get(role, []))
    return [each.summary for each in further]


def test_a_binding_that_makes_controllers_cluster_admin_is_reported_once():
    assert of_controllers(RECONCILERS) == [
        "ClusterRoleBinding cluster-reconciler-flux-system for ServiceAccount flux-system/kustomize-controller, "
        "ServiceAccount flux-system/helm-controller: ClusterRole cluster-admin adds everything in the whole cluster"
    ]


def test_a_controller_that_the_stack_makes_cluster_admin_has_no_further_rights():
    assert of_controllers(RECONCILERS, sync=SYNC) == [
        "ClusterRoleBinding cluster-reconciler-flux-system for ServiceAccount flux-system/helm-controller: "
        "ClusterRole cluster-admin adds everything in the whole cluster"
    ]
    as_helm = [{"namespace": "flux-system", "serviceAccounts": ["helm-controller"]}]
    assert of_controllers(RECONCILERS, sync=SYNC, impersonate=as_helm) == []


def test_controllers_with_the_rights_of_the_release_have_no_further_rights():
    assert of_controllers(RECONCILERS, CRD_CONTROLLER, profile="single-tenant") == []


def test_what_the_lockdown_takes_from_the_roles_of_the_release_is_reported():
    assert of_controllers(RECONCILERS, CRD_CONTROLLER, controllerRights="release") == [
        "ClusterRoleBinding crd-controller-flux-system for ServiceAccount flux-system/source-controller: "
        "ClusterRole crd-controller-flux-system adds create serviceaccounts/token in the whole cluster"
    ]


@pytest.mark.parametrize(
    ("subject", "reported"),
    [
        (SOURCE, True),
        (user("system:serviceaccount:flux-system:source-controller"), True),
        (SOURCE | {"name": "source-controller-restricted"}, True),
        (group("system:serviceaccounts:flux-system"), True),
        (SOURCE | {"name": "flux-operator"}, False),
        (SOURCE | {"namespace": "apps"}, False),
        (group("system:serviceaccounts"), False),
        (user("source-controller"), False),
    ],
)
def test_only_accounts_of_the_stacks_controllers_are_controllers(subject, reported):
    assert len(of_controllers(binding(user("bob"), subject, role="view"))) == reported


def test_what_a_controller_may_do_already_is_not_reported():
    restricted = SOURCE | {"name": "source-controller-restricted"}
    same, more = (binding(restricted, role=role, name=role) for role in ("flux-tenancy-source-controller", "view"))

    [only] = of_controllers(same, more)

    assert only.startswith("ClusterRoleBinding view for ServiceAccount flux-system/source-controller-restricted: ")


def test_bindings_of_the_stack_are_not_further_rights_not_even_those_that_it_is_about_to_delete():
    former = binding(KUSTOMIZE, HELM, name="crd-controller")
    answers = {
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings": {
            "items": [former, binding(KUSTOMIZE, HELM, name="cluster-reconciler"), RECONCILERS]
        },
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin": {"rules": ALL},
    }
    state = State({("kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding", "crd-controller"): former})

    with api_client(answers) as api:
        found = read_further_controller_access(api, state, rights(sync=SYNC))

    assert [each.name for each in found] == ["cluster-reconciler-flux-system"]
