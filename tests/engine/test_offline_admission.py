"""The program that answers for an API server: objects that are invalid, or have no spec."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.policies.rendering import object_name
from flux_tenancy.review.admission.program import FieldError, Request, Surroundings, ask
from flux_tenancy.review.admission.program import User as ReviewUser
from tests.support.offline_requests import PROGRAM, definitions, request, surroundings, tool
from tests.support.policy_cases import CASES, CONFIGS, User, kustomization, made
from tests.support.policy_requests import USERS, bound

RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


@pytest.mark.parametrize("config", CONFIGS)
def test_no_expression_fails_on_an_object_without_a_spec(config: str) -> None:
    """Such an error says nothing that a tenant understands. Built-in kinds that need a spec are invalid before."""
    kinds = {case.target["kind"] for case in CASES}
    assert {each["spec"]["names"]["kind"] for each in definitions()} <= kinds
    unspecified = [made(kind) for kind in sorted(kinds)]
    asked = [Request("CREATE", each, user=ReviewUser(USERS[User.MEMBER])) for each in unspecified]
    found = ask(tool(PROGRAM), surroundings(config), asked)

    accepted = [each["kind"] for each, answer in zip(unspecified, found, strict=True) if not answer.errors]
    assert {"Kustomization", "HelmRelease", "GitRepository"} <= set(accepted)
    failed = [
        (each["kind"], objection)
        for each, answer in zip(unspecified, found, strict=True)
        for objection in answer.objections
        if "resulted in error" in objection.message or "no such key" in objection.message
    ]
    assert failed == []


@pytest.mark.parametrize("user", [User.TENANT, User.MEMBER])
def test_the_label_alone_makes_no_source_one_of_the_stack(user: User) -> None:
    [of_stack] = [case for case in CASES if case.id == "source-options: an authority of a source of the stack"]
    forged = replace(of_stack, user=user)
    asked = surroundings(of_stack.config, PolicyName.SOURCE_OPTIONS)

    [allowed, refused] = ask(tool(PROGRAM), asked, [request(of_stack), request(forged)])

    assert allowed.objections == ()
    assert [each.policy for each in refused.objections] == [object_name(PolicyName.SOURCE_OPTIONS)]


def errors(manifest: dict[str, Any]) -> tuple[FieldError, ...]:
    [answer] = ask(tool(PROGRAM), Surroundings(definitions=definitions()), [Request("CREATE", manifest)])
    return answer.errors


def test_a_valid_object_has_no_errors() -> None:
    assert errors(kustomization()) == ()
    assert errors(made("ConfigMap", data={"a": "b"})) == ()


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (kustomization(dependsOnn=[]), FieldError("spec.dependsOnn", "unknown field")),
        (made("Service", {"ports": [{"port": 80, "name2": "a"}]}), FieldError("spec.ports[0].name2", "unknown field")),
        (
            made("Deployment", {"replicas": "three"}),
            FieldError("spec.replicas", "json: cannot unmarshal string into int32"),
        ),
        (
            kustomization(prune="yes"),
            FieldError("spec.prune", 'Invalid value: "string": spec.prune in body must be of type boolean: "string"'),
        ),
        (
            made("ResourceQuota", {"hard": {"pods": "-1"}}),
            FieldError("spec.hard[pods]", 'Invalid value: "-1": must be greater than or equal to 0'),
        ),
        (made("Policy", {}), FieldError("", "no schema for kyverno.io/v1, Kind=Policy")),
        (
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
            FieldError("metadata.namespace", "missing"),
        ),
    ],
    ids=lambda value: value.path or "kind" if isinstance(value, FieldError) else value["kind"],
)
def test_an_error_names_the_field(manifest: dict[str, Any], expected: FieldError) -> None:
    assert expected in errors(manifest)


def test_a_violated_rule_of_a_custom_kind_is_an_error() -> None:
    """Source: `x-kubernetes-validations` in the CustomResourceDefinition of Flux's Kustomization."""
    [found] = errors(kustomization(kubeConfig={}))

    assert found.path == "spec.kubeConfig"
    assert "exactly one of spec.kubeConfig.configMapRef or spec.kubeConfig.secretRef" in found.message


@pytest.mark.parametrize(
    ("level", "security", "expected"),
    [
        (None, {"privileged": True}, None),
        ("baseline", {}, None),
        ("baseline", {"privileged": True}, 'violates PodSecurity "baseline:latest": privileged'),
        ("restricted", RESTRICTED, None),
        ("restricted", {}, 'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false'),
    ],
)
def test_a_new_pod_must_satisfy_the_level_of_its_namespace(
    level: str | None, security: dict[str, Any], expected: str | None
) -> None:
    labels = {"pod-security.kubernetes.io/enforce": level} if level else {}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "apps", "labels": labels}}
    pod = made("Pod", {"containers": [{"name": "web", "image": "web", "securityContext": security}]})
    [answer] = ask(tool(PROGRAM), Surroundings(namespaces=[namespace]), [Request("CREATE", pod)])

    assert answer.errors == ()
    assert [(each.policy, each.denied) for each in answer.objections] == ([("PodSecurity", True)] if expected else [])
    assert expected is None or answer.objections[0].message.startswith(expected)


@pytest.mark.parametrize(
    ("user", "name", "refused"),
    [
        ("named", "mine", None),
        ("named", "other", 'User "named" cannot patch resource "priorityclasses"'),
        ("unknown", "mine", 'User "unknown" cannot patch resource "priorityclasses"'),
    ],
)
def test_a_right_can_be_for_one_object_by_its_name(user: str, name: str, refused: str | None) -> None:
    rule = {
        "apiGroups": ["scheduling.k8s.io"],
        "resources": ["priorityclasses"],
        "resourceNames": ["mine"],
        "verbs": ["patch"],
    }
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "one"},
        "rules": [rule],
    }
    bindings = bound("ClusterRoleBinding", {"name": "one"}, "one", {"kind": "User", "name": "named"})
    manifest = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 1}
    asked = Request("CREATE", manifest, user=ReviewUser(user), verbs=("patch", "create"), namespace="apps")
    [answer] = ask(tool(PROGRAM), Surroundings(access=[role, bindings]), [asked])

    assert [each.policy for each in answer.objections] == (["RBAC"] if refused else [])
    assert refused is None or answer.objections[0].message.startswith(refused)


@pytest.mark.parametrize(
    ("cpu", "refused"), [("1", None), ("3", "maximum cpu usage per Container is 2, but limit is 3")]
)
def test_a_new_pod_has_the_defaults_of_limit_ranges_and_their_bounds(cpu: str, refused: str | None) -> None:
    spec = {"limits": [{"type": "Container", "max": {"cpu": "2"}, "defaultRequest": {"memory": "1Gi"}}]}
    limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "a", "namespace": "apps"}, "spec": spec}
    quota = made("ResourceQuota", {"hard": {"requests.memory": "1Gi"}}, namespace="apps")
    pod = made(
        "Pod", {"containers": [{"name": "a", "image": "a", "resources": {"limits": {"cpu": cpu}}}]}, namespace="apps"
    )
    around = Surroundings(limits=[limits], quotas=[quota])
    first, second = ask(tool(PROGRAM), around, [Request("CREATE", pod)] * 2)

    assert [each.message for each in first.objections] == ([refused] if refused else [])
    if refused is None:
        assert second.objections[0].message.endswith("used: requests.memory=1Gi, limited: requests.memory=1Gi")
