"""Each policy refuses and allows what its `cases.yaml` says, and each part of it is needed for that."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby
from operator import attrgetter

import pytest

from flux_tenancy.components.policies.config import PolicyMode
from flux_tenancy.components.policies.policy import Policy, PolicyName, Requester
from flux_tenancy.components.policies.policy_files import PolicyText, filled_policy, has_file, joined_lines, policy_text
from flux_tenancy.components.policies.rendering import native, object_name
from flux_tenancy.components.policies.table import may_be_excepted, with_exceptions
from flux_tenancy.components.policies.values import Condition, conditions, places
from flux_tenancy.review.admission.program import Answer, ask
from tests.support.capsule_cases import given
from tests.support.offline_requests import OFFLINE_CASES, PROGRAM, request, surroundings, tool
from tests.support.policy_cases import Case, Object

# Parts without which each case ends alike.
WITHOUT_EFFECT: Mapping[PolicyName, set[str]] = {
    # No other kind has the field.
    PolicyName.SOURCE_OPTIONS: {
        "validations.region: object.kind != 'Bucket'",
        "validations.tokens: object.kind != 'Bucket'",
    },
    PolicyName.VERIFIED_SOURCES: {"validations.reference: object.kind != 'HelmRelease'"},
    PolicyName.ALLOWED_FIELDS: {
        'validations.artifacts[]: object.kind != "ArtifactGenerator"',
        'validations.sources[]: object.kind != "ArtifactGenerator"',
        'validations.chart.spec: object.kind != "HelmRelease"',
    },
    # No configuration of the cases has it.
    PolicyName.NODE_PLACEMENT: {"validations.name: ${policies.nodeNames}"},
    # It is always false; applied clusters have it.
    PolicyName.VOLUME_CLASSES: {"validations.class: !(true)"},
    # An earlier validation refuses what is created.
    PolicyName.UNHELD_DELETION: {"validations.kept: request.operation != 'UPDATE'"},
    # Other subjects have no namespace.
    PolicyName.TENANT_ACCESS: {"parts.isOwn: subject.kind == 'ServiceAccount'"},
    # There is no old data.
    PolicyName("cloud-credentials"): {"conditions.changes-content: request.operation == 'CREATE'"},
    PolicyName.NOTIFICATION_SECRETS: {"conditions.changes-content: request.operation == 'CREATE'"},
    # They belong to the platform anyway; and an earlier validation refuses the status of Flux's objects.
    PolicyName.STATUS_WRITES: {
        'conditions.not-by-kubernetes: !(request.userInfo.username in ["system:kube-controller-manager", '
        "\"system:kube-scheduler\"] || 'system:nodes' in request.userInfo.?groups.orValue([]))",
        'validations.kubernetes: request.resource.group.endsWith(".fluxcd.io")',
    },
}
TEXT = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""


@cache
def answers(config: str) -> dict[str, Answer]:
    """The answers to all requests of a configuration, in one call."""
    cases = [case for case in OFFLINE_CASES if case.config == config]
    found = ask(tool(PROGRAM), surroundings(config), map(request, cases))
    return {case.id: answer for case, answer in zip(cases, found, strict=True)}


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in OFFLINE_CASES])
def test_a_request_gets_the_same_verdict_as_from_the_api_server(case: Case) -> None:
    answer = answers(case.config)[case.id]

    assert answer.errors == ()
    if case.refused is None:
        assert answer.objections == ()
        return
    first = answer.objections[0]
    assert first.policy == object_name(case.policy)
    assert first.denied
    assert case.refused in first.message


@pytest.mark.parametrize("name", [name for name in PolicyName if has_file(name)])
def test_a_policy_without_one_of_its_parts_fails_its_own_cases(name: PolicyName) -> None:
    """All changed policies are asked at once, each under a name of its own."""
    unnoticed: dict[str, bool] = {}
    cases = sorted((case for case in OFFLINE_CASES if case.policy is name), key=attrgetter("config"))
    for config, of_config in groupby(cases, key=attrgetter("config")):
        asked = list(of_config)
        changed = dict(mutants(name, config))
        manifests = [each for part, policy in changed.items() for each in renamed(part, policy)]
        kinds = {case.target["kind"] for case in asked}
        found = ask(tool(PROGRAM), surroundings(config, policies=manifests, kinds=kinds), map(request, asked))
        for part in changed:
            as_before = all(is_as_expected(case, part, answer) for case, answer in zip(asked, found, strict=True))
            unnoticed[part] = unnoticed.get(part, True) and as_before
    assert {part for part, is_unnoticed in unnoticed.items() if is_unnoticed} == WITHOUT_EFFECT.get(name, set())


def mutants(name: PolicyName, config: str) -> Iterator[tuple[str, Policy]]:
    """A policy for a configuration without one of the operands in its file, by the operand."""
    stack, tenancy, relaxed = given(config)
    is_relaxed = name in relaxed
    said = policy_text(name, conditions(stack, tenancy) | ({Condition.RELAXED} if is_relaxed else set()))
    known = places(stack, tenancy)
    for part, changed in without_parts(said):
        policy = filled_policy(name, changed, known)
        yield part, with_exceptions(policy) if is_relaxed and may_be_excepted(policy) else policy


def without_parts(said: PolicyText) -> Iterator[tuple[str, PolicyText]]:
    other = Requester.CONTENT if said.subject is Requester.TENANTS else Requester.TENANTS
    yield "subject", said.model_copy(update={"subject": other})
    for key, validation in said.validations.items():
        for part, cel in without_operands(validation.expression, otherwise="true"):
            changed = {**said.validations, key: validation.model_copy(update={"expression": cel})}
            yield f"validations.{key}: {part}", said.model_copy(update={"validations": changed})
    for section, otherwise in (("conditions", "true"), ("variables", ""), ("parts", "")):
        written: dict[str, str] = getattr(said, section)
        for key, expression in written.items():
            for part, cel in without_operands(expression, otherwise):
                yield f"{section}.{key}: {part}", said.model_copy(update={section: {**written, key: cel}})


def without_operands(expression: str, otherwise: str) -> Iterator[tuple[str, str]]:
    """CEL without each of the operands of its outermost `||`, or else `&&`; if it has none, something else instead."""
    whole = joined_lines(expression)
    for operator in (" || ", " && "):
        parts = operands(whole, operator)
        if len(parts) > 1:
            for index, part in enumerate(parts):
                yield part, operator.join([*parts[:index], *parts[index + 1 :]])
            return
    if otherwise:
        yield whole, otherwise


def operands(cel: str, operator: str) -> list[str]:
    """The expression between operators that are in no bracket and no text."""
    depth, start, found = 0, 0, []
    for token in re.finditer(rf"""{TEXT}|[(\[{{]|[)\]}}]|{re.escape(operator)}| \? """, cel):
        depth += (token[0] in "([{") - (token[0] in ")]}")
        if token[0] == " ? " and depth == 0:
            return [cel]
        if token[0] == operator and depth == 0:
            found.append(cel[start : token.start()])
            start = token.end()
    return [*found, cel[start:]]


def renamed(part: str, policy: Policy) -> Iterator[Object]:
    for manifest in native(policy, PolicyMode.ENFORCE):
        manifest["metadata"]["name"] = part
        yield manifest | {"spec": manifest["spec"] | ({"policyName": part} if "policyName" in manifest["spec"] else {})}


def is_as_expected(case: Case, part: str, answer: Answer) -> bool:
    messages = [each.message for each in answer.objections if each.policy == part]
    if case.refused is None:
        return not messages
    return bool(messages) and case.refused in messages[0]
