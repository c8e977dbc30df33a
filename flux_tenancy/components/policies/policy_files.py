"""Policies as folders: reads `policy.yaml` of each, and puts the values of a stack into its CEL.

The CEL is what stands in the cluster, with three differences:

- It may have several lines. A space joins them; nothing does after an opening bracket, and before a closing one or a
  dot. A line that begins with `//` is a comment.
- `${name}` is a value as a literal: one of the file's own (`values`), or of the stack (`policies.sources.allowed`). In
  a text in quotes it is the words for the value, such as the entries of a list, or `none`. As an entry of a list in
  `values` it stands for all entries of a list.
- `${name}` may also be a piece of CEL: one of the file's own (`parts`), the list of the request's tenant
  (`tenant.sources`), or one of the table in `values.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal

import yaml
from pydantic import Field

from flux_tenancy.components.allowlists.entries import boolean, text
from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.yaml_files import FastLoader, read_mapping
from flux_tenancy.components.policies.policy import (
    PLATFORM_VERBS,
    POLICIES_FOLDER,
    POLICY_FILE,
    SPEC,
    Need,
    Policy,
    PolicyName,
    Requester,
    Resources,
    Validation,
)
from flux_tenancy.components.policies.values import Cel, Condition, Place, resource_lists, shared_places
from flux_tenancy.components.vocabulary.manifests import Manifest, merge_patch

_PLACE = re.compile(r"\$\{([^}]*)\}")
_TEXT_OR_PLACE = re.compile(r'"(?:[^"\\]|\\.)*"' rf"|'(?:[^'\\]|\\.)*'|{_PLACE.pattern}")
_OPENING, _CONTINUING = ("(", "[", "{"), (".", ")", "]", "}")


class _Resources(Section):
    """Resources of an API group, or a list of several groups' from `values.py`."""

    group: str = ""
    names: tuple[str, ...] = ()
    all: str = ""
    operations: tuple[Literal["CREATE", "UPDATE", "DELETE"], ...] = ("CREATE", "UPDATE")

    def listed(self) -> tuple[Resources, ...]:
        named = resource_lists()[self.all] if self.all else ((self.group, self.names),)
        return tuple(Resources(group, tuple(names), self.operations) for group, names in named)


class _Validation(Section):
    """A condition with its message (`Validation`)."""

    expression: str
    message: str
    exempts_platform_objects: bool = False


class PolicyText(Section):
    """What a `policy.yaml` says (`Policy`), before the values of a stack are put into it."""

    refuses: str
    threats: tuple[int, ...]
    subject: Requester
    resources: tuple[_Resources, ...]
    validations: dict[str, _Validation]
    conditions: dict[str, str] = Field(default_factory=dict)
    variables: dict[str, str] = Field(default_factory=dict)
    settings: tuple[str, ...] = ()
    reads: str = SPEC
    scope: Literal["Namespaced", "Cluster"] = "Namespaced"
    platform_verbs: str = PLATFORM_VERBS
    needs: Need | None = None
    native_only: bool = False
    reads_clock: bool = False
    values: dict[str, Any] = Field(default_factory=dict)
    parts: dict[str, str] = Field(default_factory=dict)
    where: dict[Condition, dict[str, Any]] = Field(default_factory=dict)


def has_file(name: PolicyName) -> bool:
    """Whether a policy is a folder; those of Kyverno alone are made in Python."""
    return (POLICIES_FOLDER / name.value / POLICY_FILE).is_file()


@cache
def written(name: PolicyName) -> Mapping[str, Any]:
    """A policy's file."""
    file = POLICIES_FOLDER / name.value / POLICY_FILE
    found = read_mapping(file, f"{name.value}/{POLICY_FILE}")
    if isinstance(found, Problem):
        raise ValueError(str(found))
    return found


@cache
def policy_text(name: PolicyName, conditions: frozenset[Condition] = frozenset()) -> PolicyText:
    """A policy's file with the changes (`where`) for a stack of which these conditions are true."""
    content = dict(written(name))
    for condition, change in PolicyText.model_validate(content).where.items():
        if condition in conditions:
            content = merge_patch(content, change)
    return PolicyText.model_validate(content)


def filled_policy(name: PolicyName, said: PolicyText, places: Mapping[str, Place]) -> Policy:
    """A policy for a stack."""
    known = {**places, **dict(_named(_spliced(said.values, places)))}
    try:
        for key, part in said.parts.items():
            known[key] = Cel(_filled(part, known))
        return _policy(name, said, known)
    except KeyError as missing:
        raise ValueError(
            f"{name.value}/{POLICY_FILE}: ${{{missing.args[0]}}} is not known; name one of the file's values or parts, "
            "a key of the configuration, or an entry of components/policies/values.py"
        ) from None


def _policy(name: PolicyName, said: PolicyText, known: Mapping[str, Place]) -> Policy:
    return Policy(
        name=name,
        refuses=said.refuses,
        threats=said.threats,
        subject=said.subject,
        resources=tuple(each for entry in said.resources for each in entry.listed()),
        validations=tuple(
            Validation(_filled(each.expression, known), _filled(each.message, known), each.exempts_platform_objects)
            for each in said.validations.values()
        ),
        conditions={key: _filled(each, known) for key, each in said.conditions.items()},
        variables={key: _filled(each, known) for key, each in said.variables.items()},
        settings=said.settings,
        reads=_filled(said.reads, known),
        tenant_namespaces_only=said.scope == "Namespaced",
        platform_verbs=_filled(said.platform_verbs, known),
        needs=said.needs,
        native_only=said.native_only,
        reads_clock=said.reads_clock,
    )


def _spliced(value: Any, places: Mapping[str, Any]) -> Any:
    """A value of a file; an entry `${name}` of a list stands for the entries of that list."""
    if isinstance(value, Mapping):
        return {key: _spliced(each, places) for key, each in value.items()}
    if not isinstance(value, list):
        return value
    whole = (_PLACE.fullmatch(each) for each in value)
    return [
        entry
        for each, found in zip(value, whole, strict=True)
        for entry in (places[found[1]] or () if found else [each])
    ]


def _named(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Each value by its path, those of mappings as well."""
    for key, value in values.items():
        yield f"{above}{key}", value
        if isinstance(value, Mapping):
            yield from _named(value, f"{above}{key}.")


def read_objects(folder: str) -> list[Manifest]:
    """The objects of a folder that has whole objects instead of a policy, the same for all stacks."""
    text = (POLICIES_FOLDER / folder / "objects.yaml").read_text(encoding="utf-8")

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(each) for each in value]
        if not isinstance(value, dict):
            return value
        return {
            key: _filled(each, shared_places()) if key == "expression" else filled(each) for key, each in value.items()
        }

    return [filled(each) for each in yaml.load_all(text, FastLoader)]


def joined_lines(written: str) -> str:
    """CEL on several lines as one."""
    joined = ""
    for line in map(str.strip, written.splitlines()):
        if line and not line.startswith("//"):
            close = not joined or joined.endswith(_OPENING) or line.startswith(_CONTINUING)
            joined += line if close else f" {line}"
    return joined


def _filled(cel: str, places: Mapping[str, Place]) -> str:
    def filled(found: re.Match[str]) -> str:
        if name := found[1]:
            return _literal(places[name])
        return _PLACE.sub(lambda each: json.dumps(_words(places[each[1]]))[1:-1], found[0])

    return _TEXT_OR_PLACE.sub(filled, joined_lines(cel))


def _literal(value: Place) -> str:
    match value:
        case Cel():
            return value
        case bool():
            return boolean(value)
        case int():
            return str(value)
        case str():
            return text(value)
        case None:
            return "[]"
        case Mapping():
            return f"{{{', '.join(f'{text(key)}: {_literal(each)}' for key, each in value.items())}}}"
    return f"[{', '.join(map(_literal, value))}]"


def _words(value: Place) -> str:
    if isinstance(value, Cel | Mapping):
        raise TypeError(f"{value!r} has no words")
    return str(value) if isinstance(value, str | int) else ", ".join(map(str, value or ())) or "none"
