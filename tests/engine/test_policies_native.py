"""The native policies in a real API server: requests of the table, as the user who makes each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from dev.lab.control_plane import APISERVER, NODE_NAME
from flux_tenancy.components.policies.component import probe_answer, probe_request
from flux_tenancy.components.policies.config import PolicyEngine, PolicyMode
from flux_tenancy.components.policies.native_only import tenant_labels
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.policies.rendering import object_name
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from tests.support import capsule_cases
from tests.support.api_client import ApiClient
from tests.support.api_server import api_server
from tests.support.example_fleet import WAYS_OUT, manifests
from tests.support.isolation import suite_tenant
from tests.support.lab import eventually
from tests.support.offline_requests import OFFLINE_CASES, definitions
from tests.support.policy_cases import CASES, CLOCK, CONFIGS, NAMESPACE_OBJECTS, Case, User
from tests.support.policy_requests import CUSTOM_KINDS, KYVERNO_KINDS, RBAC, USERS, access, ask, bound
from tests.support.releases import OLDER_KUBERNETES

ONE_POLICY = "one-policy"
CLUSTER_POLICY = {"apiVersion": "policies.kyverno.io/v1", "kind": "ValidatingPolicy", "metadata": {"name": "a"}}
# Another policy refuses this one, too, and the API server reports any one of them.
TWICE = "no-kubeconfig: as the platform by a tenant"
ALL_CASES = (*CASES, *(case for case in capsule_cases.CASES if case.id != TWICE))
OFFLINE = {case.id for case in OFFLINE_CASES}
SAMPLE = {
    (case.policy, case.config, case.operation, case.refused is None): case.id
    for case in reversed(ALL_CASES)
    if case.id in OFFLINE
}.values()
"""The first good and bad request of each kind; `tests/engine/policies` asks all by the API server's own library."""
BY_CONFIG = [
    pytest.param(name, case, id=case.id, marks=pytest.mark.exhaustive if case.id in OFFLINE - {*SAMPLE} else ())
    for name in (*CONFIGS, capsule_cases.CONFIG)
    for case in ALL_CASES
    if case.config == name
]


@pytest.fixture(
    scope="module",
    params=[
        APISERVER,
        *(pytest.param(f"{APISERVER}@v{older}", marks=pytest.mark.exhaustive) for older in OLDER_KUBERNETES),
    ],
)
def api(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiClient]:
    """An API server with everything that the cases need, created before the policies."""
    # On by default since 1.35; 1.33 would drop the volumes of images that requests have.
    gate, folder = "--feature-gates=ImageVolume=true", tmp_path_factory.mktemp("api")
    with api_server(folder, gate, program=request.param) as server:
        api = server.client
        namespaces = (*NAMESPACE_OBJECTS.values(), *capsule_cases.NAMESPACES.values())
        roles = (*access(), *access_to_one_policy(), *capsule_cases.access())
        for manifest in (*definitions(), *KYVERNO_KINDS, *CUSTOM_KINDS, *capsule_cases.KINDS, *namespaces, *roles):
            api.apply(manifest)
        api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flux-system"}})
        api.apply(CLOCK)
        eventually(lambda: "validatingpolicies" in str(api.get("/apis/policies.kyverno.io/v1")))
        eventually(lambda: "widgets" in str(api.get("/apis/example.com/v1")))
        eventually(lambda: "tenantresources" in str(api.get("/apis/capsule.clastix.io/v1beta2")))
        api.apply(CLUSTER_POLICY)
        for case in ALL_CASES:
            for older in (case.old, case.pod):
                if older is not None:
                    api.apply(older)
            if case.leaving:
                assert api.request("DELETE", case.target).is_success
        yield api


@pytest.fixture(scope="module")
def in_force(api: ApiClient) -> Callable[[str], None]:
    """Puts the policies of a configuration into force."""
    current = ""
    applied: list[dict[str, Any]] = []

    def put(name: str) -> None:
        nonlocal current, applied
        if name != current:
            policies = capsule_cases.native_policies(name)
            names = {manifest["metadata"]["name"] for manifest in policies.manifests}
            for manifest in applied:
                # Only some configurations have the policy about lanes.
                if manifest["metadata"]["name"] not in names:
                    assert api.request("DELETE", manifest).is_success
            applied = list(policies.manifests)
            for manifest in (*policies.manifests, *policies.probe):
                api.apply(manifest)
            said = probe_answer(policies.digest)
            eventually(lambda: said in api.request("POST", probe_request(PolicyEngine.NATIVE), dry_run=True).text)
            current = name

    return put


def access_to_one_policy() -> Iterator[dict[str, Any]]:
    """Somebody with a right to one object is not the platform for all of its kind."""
    yield RBAC | {
        "kind": "ClusterRole",
        "metadata": {"name": "one-policy"},
        "rules": [
            {
                "apiGroups": ["policies.kyverno.io"],
                "resources": ["validatingpolicies"],
                "resourceNames": ["a"],
                "verbs": ["delete"],
            }
        ],
    }
    yield bound("ClusterRoleBinding", {"name": "one-policy"}, "one-policy", {"kind": "User", "name": ONE_POLICY})


@pytest.mark.parametrize(("config", "case"), BY_CONFIG)
def test_a_request_of_the_table(api: ApiClient, in_force: Callable[[str], None], config: str, case: Case) -> None:
    in_force(config)

    response = ask(api, case, case.user)

    if case.refused is None:
        assert response.is_success, response.text
        return
    message = response.json().get("message", "")
    assert f"ValidatingAdmissionPolicy '{object_name(case.policy)}'" in message, response.text
    assert case.refused in message


@pytest.mark.parametrize("namespace", WAYS_OUT)
def test_usual_manifests_pass_or_are_told_the_way_out(
    api: ApiClient, in_force: Callable[[str], None], namespace: str
) -> None:
    """An application over infrastructure, as the tenant's account applies it, with a list of sources and without."""
    in_force("unlisted")
    refused = {}

    for name, manifest in manifests(namespace).items():
        response = api.request("POST", manifest, user=USERS[User.TENANT], dry_run=True)
        if not response.is_success:
            refused[name] = response.json()["message"]

    assert set(refused) == set(WAYS_OUT[namespace]), refused
    for name, words in WAYS_OUT[namespace].items():
        assert words in refused[name]


@pytest.mark.parametrize(("user", "passes"), [(User.PATCHER, True), (User.MEMBER, False)])
def test_a_user_who_may_delete_collections_in_the_whole_cluster_belongs_to_the_platform(
    api: ApiClient, in_force: Callable[[str], None], user: User, passes: bool
) -> None:
    in_force("open")
    [key] = [case.old for case in CASES if case.old and case.id == "platform-objects: tenant deletes the key"]

    response = api.request("DELETE", key, user=USERS[user], dry_run=True, collection=True)

    assert response.is_success is passes, response.text
    assert passes or re.search(r"Secret \S+ has the label", response.json()["message"])


def test_a_controllers_service_account_is_never_checked(api: ApiClient, in_force: Callable[[str], None]) -> None:
    in_force("open")
    quota = next(case for case in CASES if case.id == "tenant-limits: a higher quota")
    change = partial(api.request, "PATCH", quota.target, user=USERS[User.MEMBER], body=quota.object, dry_run=True)

    assert not change().is_success
    for namespace in ("kube-system", "flux-system"):
        groups = (f"system:serviceaccounts:{namespace}",)
        assert change(groups=groups).is_success


@pytest.mark.parametrize(("user", "groups"), [(User.MEMBER, ("system:nodes",)), (User.NODE, ("system:authenticated",))])
def test_a_nodes_user_name_or_group_alone_does_not_make_a_node(
    api: ApiClient, in_force: Callable[[str], None], user: User, groups: tuple[str, ...]
) -> None:
    """As in the Node authorizer: only users with a node's name and group are exempt."""
    in_force("open")
    quota = next(case for case in CASES if case.id == "tenant-limits: a higher quota")
    member = {"kind": "User", "name": USERS[user]}
    api.apply(bound("RoleBinding", {"name": "half-a-node", "namespace": "apps"}, "cluster-admin", member))

    def refusal() -> str:
        answer = api.request("PATCH", quota.target, user=USERS[user], groups=groups, body=quota.object, dry_run=True)
        return str(answer.json()["message"])

    # The API server reads the new binding a moment later; until then it refuses without asking a policy.
    eventually(lambda: "cannot patch resource" not in refusal(), what="the binding")

    assert "ResourceQuota: only the platform team may change these objects" in refusal()


def test_a_claim_needs_no_class_if_the_cluster_has_a_default_class(
    api: ApiClient, in_force: Callable[[str], None]
) -> None:
    in_force("open")
    cases = [case for case in CASES if case.refused and "has no default" in case.refused]
    default = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "storage.example.com",
    }

    assert [ask(api, case, case.user).is_success for case in cases] == [False, False]
    api.apply(default)
    try:
        eventually(lambda: all(ask(api, case, case.user).is_success for case in cases))
    finally:
        assert api.request("DELETE", default).is_success
        eventually(lambda: not any(ask(api, case, case.user).is_success for case in cases))


NODE = (USERS[User.NODE], ("system:nodes",))
SCHEDULER = ("system:kube-scheduler", ())
STATUS = {"status": {"message": "a"}}
TARGET = {"apiVersion": "v1", "kind": "Node", "name": NODE_NAME}


@pytest.mark.parametrize(
    ("identity", "name", "subresource", "body"),
    [
        (NODE, "mounts", "status", STATUS),
        (NODE, "mounts", "eviction", {"apiVersion": "policy/v1", "kind": "Eviction"}),
        (SCHEDULER, "debugged", "binding", {"apiVersion": "v1", "kind": "Binding", "target": TARGET}),
        (SCHEDULER, "debugged", "status", STATUS),
    ],
)
def test_pods_in_a_tenants_namespace_are_scheduled_and_get_a_status(
    api: ApiClient,
    in_force: Callable[[str], None],
    identity: tuple[str, tuple[str, ...]],
    name: str,
    subresource: str,
    body: dict[str, Any],
) -> None:
    """As the scheduler and the kubelets do, with the rights that Kubernetes gives them."""
    in_force("open")
    user, groups = identity
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "apps"}}

    response = api.request(
        "PATCH" if subresource == "status" else "POST",
        pod,
        user=user,
        groups=groups,
        subresource=subresource,
        dry_run=True,
        body=body | ({} if subresource == "status" else {"metadata": pod["metadata"]}),
    )

    assert response.is_success, response.text


LISTED_TENANT, ITS_HOME = "store", "store-home"
OF_STACK = {"app.kubernetes.io/managed-by": "flux-tenancy"}
OF_CAPSULE = [{"apiVersion": "capsule.clastix.io/v1beta2", "kind": "Tenant", "name": LISTED_TENANT, "uid": "a"}]
RESERVED, NOT_ITS = " is not a valid tenant name", " is not a namespace that the stack lists for tenant store"


@pytest.fixture(scope="module")
def labelling(api: ApiClient) -> Callable[..., str]:
    """Sets labels of a namespace as somebody, or creates it so; returns why it is refused, and nothing if it is not."""

    def label(name: str, labels: dict[str, str], user: User = User.PLATFORM, owners: Any = ()) -> str:
        metadata = {"name": name, "labels": labels, "ownerReferences": [*owners]}
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        method = "PATCH" if name in EXISTING else "POST"
        answer = api.request(method, manifest, user=USERS[user], body=manifest, dry_run=True)
        return "" if answer.is_success else str(answer.json()["message"])

    home = {"name": ITS_HOME, "labels": {TENANT_LABEL: LISTED_TENANT, **OF_STACK}}
    older = {"name": "kube-labelled", "labels": {TENANT_LABEL: "older-team"}}
    for metadata in (home, older, {"name": "kyverno"}):
        api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    for manifest in tenant_labels(PolicyMode.ENFORCE, makes_namespaces=True):
        api.apply(manifest)
    eventually(lambda: RESERVED in label("kyverno", {TENANT_LABEL: "blue-team"}))
    eventually(lambda: NOT_ITS in label("default-apps", {TENANT_LABEL: LISTED_TENANT}))
    return label


EXISTING = ("default", "default-apps", "flux-system", "kube-labelled", "kube-system", "kyverno", ITS_HOME)


@pytest.mark.parametrize("mark", [{}, OF_STACK], ids=["by hand", "as of the stack"])
@pytest.mark.parametrize("name", ["kube-system", "kyverno", "flux-system", "default", "capsule-system", "cert-manager"])
def test_a_namespace_of_the_cluster_cannot_get_a_tenants_label(
    labelling: Callable[..., str], name: str, mark: dict[str, str]
) -> None:
    assert f"namespace {name}{RESERVED}" in labelling(name, {TENANT_LABEL: "blue-team", **mark})
    assert labelling(name, mark) == ""


@pytest.mark.parametrize(("subresource", "method"), [("status", "PATCH"), ("finalize", "PUT")])
def test_such_a_label_cannot_come_by_a_subresource(
    api: ApiClient, labelling: Callable[..., str], subresource: str, method: str
) -> None:
    metadata = {"name": "kyverno", "labels": {TENANT_LABEL: "blue-team"}}
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    answer = api.request(
        method, manifest, user=USERS[User.PLATFORM], subresource=subresource, body=manifest, dry_run=True
    )
    assert f"namespace kyverno{RESERVED}" in answer.json()["message"]


@pytest.mark.parametrize("tenant", ["flux-system", "kube-fans", "Blue", ""])
def test_a_label_that_is_no_name_of_a_tenant_is_refused(labelling: Callable[..., str], tenant: str) -> None:
    assert f"label {TENANT_LABEL} {tenant}{RESERVED}" in labelling("shop", {TENANT_LABEL: tenant})


@pytest.mark.parametrize(
    ("name", "labels", "user", "owners"),
    [
        ("shop", {}, User.PLATFORM, []),
        ("default-apps", {}, User.PLATFORM, []),
        ("default-apps", OF_STACK, User.MEMBER, []),
        ("shop", {"app.kubernetes.io/managed-by": "capsule"}, User.PLATFORM, []),
        ("shop", {}, User.PLATFORM, [OF_CAPSULE[0] | {"name": "rival"}]),
        ("shop", {}, User.PLATFORM, [OF_CAPSULE[0] | {"apiVersion": "example.com/v1"}]),
    ],
    ids=["new", "existing", "as of the stack by a member", "as of Capsule", "another Tenant", "another kind"],
)
def test_a_namespace_that_the_stack_does_not_list_cannot_join_a_listed_tenant(
    labelling: Callable[..., str], name: str, labels: dict[str, str], user: User, owners: list[dict[str, str]]
) -> None:
    assert f"namespace {name}{NOT_ITS}" in labelling(name, {TENANT_LABEL: LISTED_TENANT, **labels}, user, owners)


@pytest.mark.parametrize(
    ("name", "labels", "owners"),
    [
        ("shop", {TENANT_LABEL: "blue-team"}, []),
        ("default-apps", {TENANT_LABEL: "blue-team"}, []),
        ("store-next", {TENANT_LABEL: LISTED_TENANT, **OF_STACK}, []),
        ("default-apps", {TENANT_LABEL: LISTED_TENANT, **OF_STACK}, []),
        ("store-made", {TENANT_LABEL: LISTED_TENANT}, OF_CAPSULE),
        (ITS_HOME, {"touched": "yes"}, []),
        ("kube-labelled", {"touched": "yes"}, []),
    ],
    ids=["new", "existing", "of the stack", "handed over", "made with Capsule", "its own changes", "labelled before"],
)
def test_other_namespaces_can_get_a_tenants_label(
    labelling: Callable[..., str], name: str, labels: dict[str, str], owners: list[dict[str, str]]
) -> None:
    assert labelling(name, labels, owners=owners) == ""


@pytest.fixture(scope="module")
def tenant(api: ApiClient) -> list[dict[str, Any]]:
    """The objects of a tenant as a stack makes them; the API server refuses to apply a field that it does not know."""
    objects = list(suite_tenant())
    for manifest in objects:
        api.apply(manifest)
    return objects


def test_a_quota_of_the_stack_counts_objects(api: ApiClient, tenant: list[dict[str, Any]]) -> None:
    """Without a controller, nobody but this test says how many there are."""
    counted = "count/configmaps"
    [quota] = [each for each in tenant if each["kind"] == "ResourceQuota" and counted in each["spec"]["hard"]]
    place = {"name": "one", "namespace": quota["metadata"]["namespace"]}
    one = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": place}

    def refused(used: str) -> str:
        status = {"hard": quota["spec"]["hard"], "used": dict.fromkeys(quota["spec"]["hard"], "0") | {counted: used}}
        assert api.request("PATCH", quota, subresource="status", body={"status": status}).is_success
        answer = api.request("POST", one, dry_run=True)
        return "" if answer.is_success else str(answer.json()["message"])

    eventually(lambda: refused("0") == "")
    eventually(lambda: f"exceeded quota: {quota['metadata']['name']}, " in refused(quota["spec"]["hard"][counted]))


def test_the_limits_of_the_stack_bound_the_disk_of_containers(api: ApiClient, tenant: list[dict[str, Any]]) -> None:
    """A container without limits gets them, and none is higher than the stack allows."""
    disk = "ephemeral-storage"
    quotas = [each for each in tenant if each["kind"] == "ResourceQuota"]
    for quota in quotas:
        hard = quota["spec"]["hard"]
        counted = {"hard": hard, "used": dict.fromkeys(hard, "0")}
        assert api.request("PATCH", quota, subresource="status", body={"status": counted}).is_success

    def pod(**limits: str) -> dict[str, Any]:
        restricted = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True}
        container = {"name": "app", "image": "nginx", "securityContext": restricted, "resources": {"limits": limits}}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "one", "namespace": quotas[0]["metadata"]["namespace"]},
            "spec": {
                "automountServiceAccountToken": False,
                "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [container, {**container, "name": "beside", "volumeMounts": []}],
            },
        }

    def created(**limits: str) -> tuple[str, list[tuple[str, str]]]:
        answer = api.request("POST", pod(**limits), dry_run=True)
        if not answer.is_success:
            return str(answer.json()["message"]), []
        given = [each["resources"] for each in answer.json()["spec"]["containers"]]
        return "", [(each["requests"][disk], each["limits"][disk]) for each in given]

    # Without a controller, there is no account `default`.
    place = {"name": "default", "namespace": quotas[0]["metadata"]["namespace"]}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": place}
    eventually(lambda: api.request("POST", account).status_code in (201, 409))
    eventually(lambda: "status unknown for quota" not in created()[0])
    assert created() == ("", [("64Mi", "4Gi")] * 2)
    assert created(**{disk: "16Gi"}) == ("", [("16Gi", "16Gi")] * 2)
    assert "maximum ephemeral-storage usage per Container is 16Gi" in created(**{disk: "17Gi"})[0]


def test_policies_for_namespaces_ignore_cluster_scoped_objects(api: ApiClient, in_force: Callable[[str], None]) -> None:
    """A selector of namespaces does not hold off objects without one."""
    in_force("open")
    assert api.request("DELETE", CLUSTER_POLICY, user=ONE_POLICY, dry_run=True).is_success


def test_each_policy_has_good_and_bad_requests() -> None:
    for policy in {case.policy for case in CASES}:
        refused = [case.refused is not None for case in CASES if case.policy is policy]
        assert refused.count(True) >= 2 and refused.count(False) >= 2, policy
    others = {PolicyName.FLUX_IMAGES, PolicyName.TENANT_IMAGES, PolicyName.ONBOARDING}
    assert {case.policy for case in CASES} == set(PolicyName) - others
