"""Statements about the admission policies: which refuse, and what their settings and exceptions allow tenants.

Everything is read from the rendered policies and namespaces, so what is told is what would be applied.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from components.policies.config import PolicyMode
from components.policies.exceptions import without_grants
from components.policies.names import PolicyName
from components.policies.rendering import ACTIONS, POLICIES, without_exemption
from components.vocabulary.manifests import Manifest
from components.vocabulary.names import TENANT_LABEL
from review.access.policy_settings import SETTINGS, Checked, Setting, without_settings
from review.access.rules import LABELED, Subject, SubjectKind
from review.access.sentences import Statement
from review.access.words import all_of
from review.render.rendered import RenderedObject

_NATIVE, _BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
_OF_KYVERNO = ("ImageValidatingPolicy", "ValidatingPolicy")
# Whose requests a policy refuses, if not tenants'.
_OTHERS = {PolicyName.FLUX_IMAGES: "Flux's controllers"}
# The actions are the mode; the others are compared by themselves.
_READ_OTHERWISE = ("matchConditions", "validationActions", "validations", "variables")
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
    """A policy of one engine.

    Attributes:
        cel: what it evaluates, except for messages: `name=CEL` of variables and conditions, CEL of validations.
        rest: all else of its `spec` that decides what it refuses, as JSON.
    """

    mode: PolicyMode
    cel: tuple[str, ...]
    rest: str


@dataclass(frozen=True)
class Admission:
    """The policies of a render, and the namespaces of its tenants.

    Attributes:
        policies: the policies of each name; two if both engines have it.
        namespaces: the metadata of tenants' namespaces by name.
    """

    policies: Mapping[PolicyName, Mapping[str, RenderedPolicy]]
    namespaces: Mapping[str, Manifest]

    def mode_of(self, name: PolicyName) -> PolicyMode:
        """The strongest mode among the engines, each of which can refuse."""
        return max(
            (each.mode for each in self.policies.get(name, {}).values()), key=_STRENGTH.index, default=PolicyMode.OFF
        )

    def enforced(self, name: PolicyName) -> list[tuple[str, ...]]:
        """The CEL of a policy for each engine in which it refuses."""
        return [each.cel for each in self.policies.get(name, {}).values() if each.mode is PolicyMode.ENFORCE]


def read_admission(objects: Iterable[RenderedObject]) -> Admission:
    """The policies of a render, and the namespaces of its tenants."""
    manifests = [each.manifest for each in objects]
    actions = {
        each["spec"]["policyName"]: each["spec"]["validationActions"] for each in manifests if each["kind"] == _BINDING
    }
    policies: dict[PolicyName, dict[str, RenderedPolicy]] = defaultdict(dict)
    namespaces: dict[str, Manifest] = {}
    for manifest in manifests:
        kind, metadata = manifest["kind"], manifest["metadata"]
        name = POLICIES.get(metadata["name"])
        if name is not None and kind in (_NATIVE, *_OF_KYVERNO):
            spec = manifest["spec"]
            # A native policy without a binding refuses nothing.
            given = actions.get(metadata["name"], ()) if kind == _NATIVE else spec["validationActions"]
            policies[name][kind] = RenderedPolicy(_mode(given), tuple(_cel(spec)), _rest(spec))
        elif kind == "Namespace" and TENANT_LABEL in metadata.get("labels", {}):
            namespaces[metadata["name"]] = metadata
        elif kind == "GeneratingPolicy":
            namespaces[LABELED] = {"name": LABELED, "labels": {TENANT_LABEL: LABELED}}
    return Admission(policies, namespaces)


def policy_statements(old: Iterable[RenderedObject], new: Iterable[RenderedObject]) -> Iterator[Statement]:
    """What the policies refuse now and no longer refuse, and what their settings and exceptions allow."""
    before, after = read_admission(old), read_admission(new)
    yield from _modes(before, after)
    yield from _other_changes(before, after)
    for setting in SETTINGS:
        yield from _settings(setting, before, after)


def allowance_statements(admission: Admission) -> Iterator[Statement]:
    """What the settings and exceptions of the policies that refuse allow each tenant."""
    for setting in SETTINGS:
        if cel := admission.enforced(setting.policies[0]):
            for namespace, metadata in admission.namespaces.items():
                if words := setting.allowed(Checked(cel, _annotations(metadata))):
                    yield Statement(f"may {words}", True, False, _tenant(metadata), namespace)


def _modes(before: Admission, after: Admission) -> Iterator[Statement]:
    names = sorted({*before.policies, *after.policies})
    found: dict[tuple[PolicyMode, PolicyMode], list[PolicyName]] = defaultdict(list)
    for name in names:
        found[before.mode_of(name), after.mode_of(name)].append(name)
    for (old, new), changed in found.items():
        if old is not new:
            widened = _STRENGTH.index(new) < _STRENGTH.index(old)
            yield from _about(changed, names, _CHANGES[old, new], widened, high=old is PolicyMode.ENFORCE)


def _other_changes(before: Admission, after: Admission) -> Iterator[Statement]:
    """Changes of policies that no setting explains; whether they allow more is for a person to say."""
    changed = [
        name
        for name, policies in sorted(after.policies.items())
        if any(
            _unexplained(name, policies[kind], policy)
            for kind, policy in before.policies.get(name, {}).items()
            if kind in policies and {policy.mode, policies[kind].mode} == {PolicyMode.ENFORCE}
        )
    ]
    yield from _about(changed, sorted(after.policies), _UNEXPLAINED, widened=True, high=True)


def _unexplained(name: PolicyName, one: RenderedPolicy, other: RenderedPolicy) -> bool:
    return (
        one.rest != other.rest
        or one.cel != other.cel
        and without_settings(name, one.cel) != without_settings(name, other.cel)
    )


def _about(
    names: Sequence[PolicyName], of_all: Sequence[PolicyName], words: tuple[str, str, str], widened: bool, high: bool
) -> Iterator[Statement]:
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
        yield Statement(f"{said} for {whom}", widened, high)


def _settings(setting: Setting, before: Admission, after: Admission) -> Iterator[Statement]:
    """What a setting allows each tenant in each namespace now or no longer, if its policy refuses before and after.

    A namespace that comes with the change is compared with one without exceptions.
    """
    old_cel, new_cel = (each.enforced(setting.policies[0]) for each in (before, after))
    if not old_cel or not new_cel:
        return
    # Most tenants have no entries of their own, so the same is allowed to them.
    known: dict[tuple[str | None, str | None], tuple[str, str]] = {}
    for namespace, metadata in after.namespaces.items():
        was = before.namespaces.get(namespace)
        old, new = (_annotations(each or {}) for each in (was, metadata))
        own = old.get(setting.annotation), new.get(setting.annotation)
        if own not in known:
            known[own] = setting.changed(Checked(old_cel, old), Checked(new_cel, new))
        gained, lost = known[own]
        if gained:
            yield Statement(f"may now {gained}", True, False, _tenant(metadata), namespace)
        if lost and was is not None:
            yield Statement(f"may no longer {lost}", False, False, _tenant(metadata), namespace)


def _tenant(metadata: Manifest) -> Subject:
    return Subject(SubjectKind.TENANT, metadata["labels"][TENANT_LABEL])


def _annotations(metadata: Manifest) -> Mapping[str, str]:
    return metadata.get("annotations") or {}


def _mode(actions: Iterable[str]) -> PolicyMode:
    """What happens to a request that violates a policy with these actions."""
    given = set(actions)
    return next((mode for mode, own in ACTIONS.items() if given & set(own)), PolicyMode.OFF)


def _cel(spec: Manifest) -> Iterator[str]:
    """What decides about a request of a tenant without grants; variables that only messages use do not."""
    conditions, validations = spec.get("matchConditions", ()), spec.get("validations", ())
    yield from (f"{each['name']}={each['expression']}" for each in conditions)
    yield from (_for_tenants(each["expression"]) for each in validations)
    variables = {each["name"]: each["expression"] for each in spec.get("variables", ())}
    open_names = [name for each in validations for name in _used(_for_tenants(each["expression"]))]
    seen: set[str] = set()
    while open_names:
        name = open_names.pop()
        if name in variables and name not in seen:
            seen.add(name)
            yield f"{name}={variables[name]}"
            open_names += _used(variables[name])


def _for_tenants(expression: str) -> str:
    return without_exemption(without_grants(expression))


def _used(expression: str) -> list[str]:
    """The variables that CEL uses."""
    return re.findall(r"\bvariables\.(\w+)", expression)


def _rest(spec: Manifest) -> str:
    """All of a policy's specification but its CEL, its messages and its mode."""
    left = {key: value for key, value in spec.items() if key not in _READ_OTHERWISE}
    return json.dumps(left, sort_keys=True)
