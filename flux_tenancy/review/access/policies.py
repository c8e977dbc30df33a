"""Statements about the admission policies: which refuse, and what their settings and exceptions allow tenants.

Modes are read from the rendered policies, settings and exceptions from the settings beside them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from flux_tenancy.components.policies.config import PoliciesConfig, PolicyMode
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.policies.rendering import ACTIONS, POLICIES, kyverno, native, object_name
from flux_tenancy.components.policies.table import policies as policies_of
from flux_tenancy.components.rbac.subjects import Subject, SubjectKind
from flux_tenancy.components.tenant.annotations import EXCEPTIONS
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.tenant.people import DEVELOPER
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.review.access.policy_settings import (
    Lists,
    Setting,
    allowed,
    changes_of,
    differences,
    exceptions,
    is_opened,
    seen_otherwise,
    told_settings,
    values_of,
)
from flux_tenancy.review.access.rules import LABELED
from flux_tenancy.review.access.sentences import AccessChange, all_of
from flux_tenancy.review.render.rendered import AdmissionSettings, Render

_NATIVE, _BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
_OF_KYVERNO = ("ImageValidatingPolicy", "ValidatingPolicy")
# Whose requests a policy refuses, if not tenants'.
_OTHERS = {PolicyName.FLUX_IMAGES: "Flux's controllers"}
_STRENGTH = (PolicyMode.OFF, PolicyMode.AUDIT, PolicyMode.ENFORCE)

# What becomes of policies by their mode before and after: words with one policy and with several, and for whom.
_CHANGES: Mapping[tuple[PolicyMode, PolicyMode], tuple[str, str, str]] = {
    (PolicyMode.ENFORCE, PolicyMode.AUDIT): (
        "no longer refuses, it only warns (audit),",
        "no longer refuse, they only warn (audit),",
        "all tenants",
    ),
    (PolicyMode.ENFORCE, PolicyMode.OFF): ("is no longer in force", "are no longer in force", "any tenant"),
    (PolicyMode.AUDIT, PolicyMode.OFF): ("no longer warns", "no longer warn", "any tenant"),
    (PolicyMode.AUDIT, PolicyMode.ENFORCE): (
        "now refuses, where it only warned,",
        "now refuse, where they only warned,",
        "all tenants",
    ),
    (PolicyMode.OFF, PolicyMode.ENFORCE): ("is now in force", "are now in force", "all tenants"),
    (PolicyMode.OFF, PolicyMode.AUDIT): ("now warns (audit)", "now warn (audit)", "all tenants"),
}
_UNEXPLAINED = (
    "checks requests in another way (its CEL is in the diff)",
    "check requests in another way (their CEL is in the diff)",
    "all tenants",
)


@dataclass(frozen=True)
class RenderedPolicy:
    """A policy of one engine: what happens to a request that violates it, and its specification."""

    mode: PolicyMode
    spec: Manifest


@dataclass(frozen=True)
class Admission:
    """The policies of a render, and the namespaces of its tenants.

    Attributes:
        policies: the policies of each name; two if both engines have it.
        namespaces: the tenant of each namespace; LABELED of those that get a tenant's label.
        settings: of the policies; None if they are not known.
    """

    policies: Mapping[PolicyName, Mapping[str, RenderedPolicy]]
    namespaces: Mapping[str, str]
    settings: AdmissionSettings | None

    def mode_of(self, name: PolicyName) -> PolicyMode:
        """The strongest mode among the engines, each of which can refuse."""
        return max(
            (each.mode for each in self.policies.get(name, {}).values()), key=_STRENGTH.index, default=PolicyMode.OFF
        )

    def refuses(self, name: PolicyName) -> bool:
        """Whether a policy refuses anything."""
        return self.mode_of(name) is PolicyMode.ENFORCE

    def lists_of(self, namespace: str) -> Lists:
        """The lists of a namespace; nothing for one that is not in the render."""
        return self.settings.namespaces.get(namespace, {}) if self.settings and namespace in self.namespaces else {}


def read_admission(render: Render | None) -> Admission:
    """The policies of a render, and the namespaces of its tenants; nothing of a stack that does not exist."""
    manifests = [each.manifest for each in render.objects if each.is_kubernetes] if render else []
    actions = {
        each["spec"]["policyName"]: each["spec"]["validationActions"] for each in manifests if each["kind"] == _BINDING
    }
    policies: dict[PolicyName, dict[str, RenderedPolicy]] = defaultdict(dict)
    namespaces: dict[str, str] = {}
    for manifest in manifests:
        kind, metadata = manifest["kind"], manifest["metadata"]
        name = POLICIES.get(metadata["name"])
        if name is not None and kind in (_NATIVE, *_OF_KYVERNO):
            spec = manifest["spec"]
            # A native policy without a binding refuses nothing.
            given = actions.get(metadata["name"], ()) if kind == _NATIVE else spec["validationActions"]
            policies[name][kind] = RenderedPolicy(_mode(given), spec)
        elif kind == "Namespace" and TENANT_LABEL in metadata.get("labels", {}):
            namespaces[metadata["name"]] = metadata["labels"][TENANT_LABEL]
        elif kind == "GeneratingPolicy":
            namespaces[LABELED] = LABELED
    return Admission(policies, namespaces, render.settings if render else None)


def policy_statements(old: Render | None, new: Render | None) -> Iterator[AccessChange]:
    """What the policies refuse now and no longer refuse, and what their settings and exceptions allow.

    Without the settings of one of the renders, only the modes of the policies are compared.
    """
    before, after = read_admission(old), read_admission(new)
    yield from _modes(before, after, unneeded=_unneeded(new))
    if before.settings is not None and after.settings is not None:
        sections = _sections(before.settings)
        yield from _other_changes(before, after, sections)
        yield from _settings(before, after, told_settings() if sections else ())


def allowance_statements(admission: Admission) -> Iterator[AccessChange]:
    """What the settings and exceptions of the policies that refuse allow each tenant."""
    values = values_of(admission.settings.stack) if admission.settings else {}
    for namespace, tenant in admission.namespaces.items():
        own = admission.lists_of(namespace)
        found = [(each.policy, allowed(each, values[each.key], own)) for each in told_settings() if each.key in values]
        for policy, words in (*found, *exceptions({}, own)):
            if words and admission.refuses(policy):
                yield AccessChange(f"may {words}", True, False, Subject(SubjectKind.TENANT, tenant), namespace)


def _unneeded(render: Render | None) -> set[PolicyName]:
    """The policies about people whom a stack does not have."""
    names = {each.name for each in render.objects if each.kind == "ClusterRole"} if render else set()
    return set() if DEVELOPER in names else {PolicyName.FLUX_REQUESTS}


def _modes(before: Admission, after: Admission, unneeded: Collection[PolicyName]) -> Iterator[AccessChange]:
    names = sorted({*before.policies, *after.policies} - {each for each in unneeded if each not in after.policies})
    found: dict[tuple[PolicyMode, PolicyMode], list[PolicyName]] = defaultdict(list)
    for name in names:
        found[before.mode_of(name), after.mode_of(name)].append(name)
    for (old, new), changed in found.items():
        if old is not new:
            widened = _STRENGTH.index(new) < _STRENGTH.index(old)
            yield from _about(changed, names, _CHANGES[old, new], widened, high=old is PolicyMode.ENFORCE)


def _other_changes(
    before: Admission, after: Admission, sections: tuple[PoliciesConfig, TenancyConfig] | None
) -> Iterator[AccessChange]:
    """Policies that this program checks otherwise with the settings before; if that allows more, a person has to say.

    Policies that this program cannot render with them are compared as they are.
    """
    relaxed = before.settings.relaxed if before.settings else ()
    same = {
        (each["metadata"]["name"], each["kind"]): each["spec"]
        for policy in (policies_of(sections[0], relaxed, sections[1]) if sections else ())
        for engine in (native, kyverno)
        for each in engine(policy, PolicyMode.ENFORCE)
    }
    changed = [
        name
        for name, found in sorted(after.policies.items())
        for old in [before.policies.get(name, {})]
        if any(
            {old[kind].mode, new.mode} == {PolicyMode.ENFORCE}
            and _checks(old[kind].spec) != _checks(same.get((object_name(name), kind), new.spec))
            for kind, new in found.items()
            if kind in old
        )
    ]
    yield from _about(changed, sorted(after.policies), _UNEXPLAINED, widened=True, high=True)


def _sections(settings: AdmissionSettings) -> tuple[PoliciesConfig, TenancyConfig] | None:
    """The sections of a stack; None if they were written for a program that this one cannot read."""
    try:
        return (
            PoliciesConfig.model_validate(settings.stack.get("policies")),
            TenancyConfig.model_validate(settings.stack.get("tenancy")),
        )
    except ValidationError:
        return None


def _about(
    names: Sequence[PolicyName], of_all: Sequence[PolicyName], words: tuple[str, str, str], widened: bool, high: bool
) -> Iterator[AccessChange]:
    """One statement about policies; those that do not concern tenants have their own."""
    one, many, tenants = words
    concerned: dict[str, list[PolicyName]] = defaultdict(list)
    for name in names:
        concerned[_OTHERS.get(name, tenants)].append(name)
    for whom, policies in concerned.items():
        if len(policies) == 1:
            said = f"Policy {policies[0]} {one}"
        elif policies == list(of_all):
            said = f"All {len(policies)} policies {many}"
        else:
            said = f"Policies {all_of(policies)} {many}"
        yield AccessChange(f"{said} for {whom}", widened, high)


def _settings(before: Admission, after: Admission, known: Iterable[Setting]) -> Iterator[AccessChange]:
    """What the settings allow now or no longer, each tenant in each namespace; those without words as they are.

    A policy decides only if it refuses after, and what it no longer allows if it did before. A namespace that comes
    with the change is compared with one without lists.
    """
    old, new = (values_of(each.settings.stack) if each.settings else {} for each in (before, after))
    compared = [each for each in known if each.key in old and each.key in new]
    for key, values in differences(old, new, {*(each.key for each in compared), *seen_otherwise()}):
        yield AccessChange(f"The setting {key} is {values}", True, True)
    in_force = [each for each in compared if after.refuses(each.policy)]
    told = {EXCEPTIONS, *(each.annotation for each in compared)}
    # Most tenants have no entries of their own, so the same is allowed to them.
    cached: dict[tuple[str, Any, Any], tuple[str, str]] = {}
    for namespace, tenant in after.namespaces.items():
        was, own = before.lists_of(namespace), after.lists_of(namespace)
        gained = [(policy, words, True) for policy, words in exceptions(was, own) if after.refuses(policy)]
        lost = [(policy, words) for policy, words in exceptions(own, was) if after.refuses(policy)]
        for each in in_force:
            entries = each.key, was.get(each.annotation), own.get(each.annotation)
            if entries not in cached:
                cached[entries] = changes_of(each, (old[each.key], was), (new[each.key], own))
            opened = is_opened(each, (old[each.key], was), (new[each.key], own))
            gained.append((each.policy, cached[entries][0], opened))
            lost.append((each.policy, cached[entries][1]))
        subject = Subject(SubjectKind.TENANT, tenant)
        for policy, words, high in gained:
            if words:
                verb = "now" if before.refuses(policy) else "still"
                yield AccessChange(f"may {verb} {words}", True, high, subject, namespace)
        for policy, words in lost:
            if words and namespace in before.namespaces and before.refuses(policy):
                yield AccessChange(f"may no longer {words}", False, False, subject, namespace)
        for key, values in differences(was, own, told):
            yield AccessChange(f"has the setting {key}, {values},", True, True, subject, namespace)


def _mode(actions: Iterable[str]) -> PolicyMode:
    """What happens to a request that violates a policy with these actions."""
    given = set(actions)
    return next((mode for mode, own in ACTIONS.items() if given & set(own)), PolicyMode.OFF)


def _checks(spec: Manifest) -> Manifest:
    """What of a specification decides about a request: neither its mode nor its messages and what these alone use."""
    checks = [each["expression"] for each in spec.get("validations", ())]
    variables = {each["name"]: each["expression"] for each in spec.get("variables", ())}
    open_names, used = [name for each in checks for name in _used(each)], dict[str, str]()
    while open_names:
        name = open_names.pop()
        if name in variables and name not in used:
            used[name] = variables[name]
            open_names += _used(variables[name])
    rest = {key: value for key, value in spec.items() if key not in ("validationActions", "validations", "variables")}
    return rest | {"validations": checks, "variables": used}


def _used(expression: str) -> list[str]:
    """The variables that CEL uses."""
    return re.findall(r"\bvariables\.(\w+)", expression)
