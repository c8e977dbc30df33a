"""The program that answers for an API server: the requests of the policy table, and objects that are invalid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from dev.lab.build import ensure
from dev.lab.settings import Settings
from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.rendering import object_name
from flux_tenancy.review.admission.program import Answer, FieldError, Request, Surroundings, ask
from flux_tenancy.review.admission.program import User as ReviewUser
from tests.support import capsule_cases
from tests.support.offline_requests import ACCESS, PROGRAM, request
from tests.support.policy_cases import CASES, CONFIGS, NAMESPACE_OBJECTS, Case, User, kustomization, made
from tests.support.policy_requests import KYVERNO_KINDS, USERS, WIDGETS, as_in_flux_2_10
from tests.support.releases import FLUX_BUNDLE

FLUX = FLUX_BUNDLE
# They depend on who owns which entry of a list, which only the API server records.
OF_OWNERS = {
    f"load-balancers: {name}"
    for name in (
        "ports that Kubernetes chooses, changed",
        "a port of its choice",
        "a port of its choice without owners",
    )
}
ALL_CASES = tuple(case for case in (*CASES, *capsule_cases.CASES) if case.id not in OF_OWNERS)


@cache
def tool(name: str) -> Path:
    return ensure(Settings.load(), [name])[name]


@cache
def definitions() -> tuple[dict[str, Any], ...]:
    manifests = yaml.load_all(tool(FLUX).read_text(), FastLoader)
    return tuple(as_in_flux_2_10(each) for each in manifests if each["kind"] == "CustomResourceDefinition")


def rules(config: str) -> Sequence[dict[str, Any]]:
    return capsule_cases.native_policies(config).manifests


def surroundings(config: str, only: PolicyName | None = None) -> Surroundings:
    """The namespaces and access of the table with the policies of a configuration, or with one of them."""
    return Surroundings(
        definitions=[*definitions(), *KYVERNO_KINDS, WIDGETS, *capsule_cases.KINDS],
        policies=[each for each in rules(config) if only is None or each["metadata"]["name"] == object_name(only)],
        namespaces=[*NAMESPACE_OBJECTS.values(), *capsule_cases.NAMESPACES.values()],
        access=[*ACCESS, *capsule_cases.access()],
    )


@cache
def answers(config: str) -> dict[str, Answer]:
    """The answers to all requests of a configuration, in one call."""
    cases = [case for case in ALL_CASES if case.config == config]
    found = ask(tool(PROGRAM), surroundings(config), map(request, cases))
    return {case.id: answer for case, answer in zip(cases, found, strict=True)}


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in ALL_CASES])
def test_a_request_of_the_table_gets_the_same_verdict_as_from_the_api_server(case: Case) -> None:
    answer = answers(case.config)[case.id]

    assert answer.errors == ()
    if case.refused is None:
        assert answer.objections == ()
        return
    first = answer.objections[0]
    assert first.policy == object_name(case.policy)
    assert first.denied
    assert case.refused in first.message


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
