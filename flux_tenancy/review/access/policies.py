"""The admission policies of a render: what each does, what it checks, and the settings that hold in each namespace.

Modes and checks are read from the rendered policies, settings from the configuration and the namespaces' annotations.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from flux_tenancy.components.policies.config import PoliciesConfig, PolicyMode
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.policies.rendering import ACTIONS, POLICIES, kyverno, native, object_name
from flux_tenancy.components.policies.table import policies as policies_of
from flux_tenancy.components.tenant.annotations import (
    BLOCKING_BUDGETS,
    CSI_DRIVERS,
    EXCEPTIONS,
    HOSTS,
    IMAGES,
    MAXIMUM_GRACE_PERIOD,
    MAXIMUM_RELEASE_SIZE,
    MAXIMUM_TIMEOUT,
    MAXIMUM_TOKEN_LIFETIME,
    MINIMUM_INTERVAL,
    NOTIFICATIONS,
    PRIORITY_CLASSES,
    SERVICE_TYPES,
    SOURCES,
    STORAGE_CLASSES,
    TOLERATIONS,
    VERIFIED,
)
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.tenant.people import DEVELOPER
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.review.render.facts import digest_of, section_at
from flux_tenancy.review.render.rendered import PLATFORM, RenderedObject

_NATIVE, _BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
_OF_KYVERNO = ("ImageValidatingPolicy", "ValidatingPolicy")
_STRENGTH = (PolicyMode.OFF, PolicyMode.AUDIT, PolicyMode.ENFORCE)
# The settings that a tenant has in addition, by the annotation of its namespaces.
_ADDED = {
    SOURCES: "sources.allowed",
    IMAGES: "images.allowed",
    VERIFIED: "sources.verified",
    NOTIFICATIONS: "notifications.hosts",
    HOSTS: "ingress.hosts",
    PRIORITY_CLASSES: "priorityClasses",
    TOLERATIONS: "tolerations",
    STORAGE_CLASSES: "storageClasses",
    CSI_DRIVERS: "csiDrivers",
    SERVICE_TYPES: "serviceTypes",
}
# Those that a tenant has instead.
_REPLACED = {
    MINIMUM_INTERVAL: "minimumInterval",
    MAXIMUM_TIMEOUT: "maximumTimeout",
    MAXIMUM_RELEASE_SIZE: "maximumReleaseSize",
    MAXIMUM_GRACE_PERIOD: "maximumTerminationGracePeriod",
    MAXIMUM_TOKEN_LIFETIME: "maximumTokenLifetime",
    BLOCKING_BUDGETS: "blockingDisruptionBudgets",
}
_Specs = Mapping[tuple[PolicyName, str], tuple[PolicyMode, Manifest]]
"""The mode and the specification of each policy, by its name and kind: both engines may have it."""
Sections = Mapping[str, Any]


def policy_documents(
    before: tuple[Sections, Iterable[RenderedObject]], after: tuple[Sections, Iterable[RenderedObject]]
) -> tuple[list[RenderedObject], list[RenderedObject]]:
    """The policies as what `risks.yaml` compares: one document of all of them, and one of each tenant's namespace.

    Args:
        before, after: the configuration of the stack, and all of its objects.
    """
    objects = list(before[1]), list(after[1])
    old, new = (_specs(each) for each in objects)
    modes = [_modes(each) for each in (old, new)]
    if not any(each.kind == "ClusterRole" and each.name == DEVELOPER for each in objects[1]):
        # It is about people whom the stack does not have.
        modes[0] = {
            name: mode for name, mode in modes[0].items() if name in modes[1] or name != PolicyName.FLUX_REQUESTS
        }
    off = dict.fromkeys(sorted({*modes[0], *modes[1]}), PolicyMode.OFF)
    checks = _changed_checks(before[0], old, new)
    found = [
        [
            _document(
                "AdmissionPolicies", PLATFORM, PLATFORM, {"modes": off | each, "checks": checked, **_tenancy(sections)}
            )
        ]
        for each, checked, sections in zip(modes, checks, (before[0], after[0]), strict=True)
    ]
    settings = _settings(before[0], after[0])
    namespaces = [{each.name: each for each in side if _tenant_of(each)} for side in objects]
    for name, namespace in namespaces[1].items():
        # A namespace that is new is compared with what tenants may without settings of their own.
        own = [_annotations(each) for each in (namespaces[0].get(name), namespace)]
        excepted = [set(each.get(EXCEPTIONS, "").split()) for each in own]
        # An exception of any name includes those of single ones.
        whole = {each for each in excepted[0] | excepted[1] if "/" not in each}
        excepted[1] = {each for each in excepted[1] if each in whole or each.partition("/")[0] not in whole}
        for documents, given, of_all, exceptions in zip(found, own, settings, excepted, strict=True):
            content = {**_with_own(of_all, given), "exceptions": dict.fromkeys(sorted(exceptions), True)}
            documents.append(_document("PolicySettings", _tenant_of(namespace), name, content))
    return found[0], found[1]


def policy_modes(objects: Iterable[RenderedObject]) -> dict[PolicyName, PolicyMode]:
    """What each policy does with a request that violates it: the stronger mode of both engines."""
    return _modes(_specs(objects))


def policy_settings(
    sections: Sections, objects: Iterable[RenderedObject]
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """The settings of the policies in each namespace of a tenant, by key, with the tenant and the namespace."""
    [settings] = _settings(sections)
    for each in objects:
        if tenant := _tenant_of(each):
            own = _annotations(each)
            exceptions = own.get(EXCEPTIONS, "").split()
            yield tenant, each.name, dict(_flat(_with_own(settings, own))) | {"exceptions": exceptions}


def _tenant_of(each: RenderedObject) -> str:
    """The tenant of a namespace; empty for any other object."""
    labels = each.manifest["metadata"].get("labels") or {} if each.kind == "Namespace" else {}
    return str(labels.get(TENANT_LABEL, ""))


def _annotations(namespace: RenderedObject | None) -> Mapping[str, str]:
    return (namespace.manifest["metadata"].get("annotations") or {}) if namespace else {}


def _document(kind: str, owner: str, name: str, content: Mapping[str, Any]) -> RenderedObject:
    return RenderedObject(owner, kind, name, {"kind": kind, "metadata": {"name": name}, **content})


def _specs(objects: Iterable[RenderedObject]) -> _Specs:
    manifests = [each.manifest for each in objects if each.is_kubernetes]
    actions = {
        each["spec"]["policyName"]: each["spec"]["validationActions"] for each in manifests if each["kind"] == _BINDING
    }
    found = {}
    for manifest in manifests:
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        if name in POLICIES and kind in (_NATIVE, *_OF_KYVERNO):
            # A native policy without a binding refuses nothing.
            given = set(actions.get(name, ()) if kind == _NATIVE else manifest["spec"]["validationActions"])
            mode = next((mode for mode, own in ACTIONS.items() if given & set(own)), PolicyMode.OFF)
            found[POLICIES[name], kind] = mode, manifest["spec"]
    return found


def _modes(specs: _Specs) -> dict[PolicyName, PolicyMode]:
    found: dict[PolicyName, PolicyMode] = {}
    for (name, _), (mode, _) in specs.items():
        found[name] = max(found.get(name, PolicyMode.OFF), mode, key=_STRENGTH.index)
    return found


def _settings(*versions: Sections) -> list[Mapping[str, Any]]:
    """The section `policies` with its defaults; as it is written if one is for a program that this one cannot read."""
    given = [section_at(each, "policies") for each in versions]
    try:
        return [PoliciesConfig.model_validate(each).model_dump(mode="json", by_alias=True) for each in given]
    except ValidationError:
        return given


def _tenancy(sections: Sections) -> dict[str, Any]:
    """The settings of `tenancy` by which policies tell what belongs to a tenant."""
    mode = section_at(sections, "tenancy").get("mode", "namespaces")
    return {"mode": mode, "proxy": bool(section_at(sections, "tenancy", "capsule").get("proxy"))}


def _with_own(settings: Mapping[str, Any], own: Mapping[str, str]) -> dict[str, Any]:
    """The settings that hold in a namespace with these annotations."""
    found = {key: dict(each) if isinstance(each, Mapping) else each for key, each in settings.items()}
    for annotation, path in (_ADDED | _REPLACED).items():
        if (text := own.get(annotation)) is None:
            continue
        section, _, key = path.rpartition(".")
        within = found.setdefault(section, {}) if section else found
        within[key] = [*(within.get(key) or ()), *text.split()] if annotation in _ADDED else text
    return found


def _flat(value: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, each in value.items():
        if isinstance(each, Mapping):
            yield from _flat(each, f"{path}{key}.")
        else:
            yield f"{path}{key}", each


def _changed_checks(before: Sections, old: _Specs, new: _Specs) -> tuple[dict[str, str], dict[str, str]]:
    """Digests of what enforced policies check: before, and as this program does with the settings before.

    What the stack declares for its tenants relaxes some policies, of which keys tell.
    """
    found: tuple[dict[str, str], dict[str, str]] = {}, {}
    own = _own_checks(before)
    for (name, kind), (mode, spec) in new.items():
        earlier, was = old.get((name, kind), (PolicyMode.OFF, {}))
        if earlier is mode is PolicyMode.ENFORCE:
            checked = _checks(was)
            known = own.get((object_name(name), kind)) or [_checks(spec)]
            found[0][f"{name} ({kind})"] = checked
            found[1][f"{name} ({kind})"] = checked if checked in known else known[0]
    return found


def _own_checks(sections: Sections) -> Mapping[tuple[str, str], list[str]]:
    """What this program's policies check with these settings, relaxed or not; nothing if it cannot read them."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    try:
        config = PoliciesConfig.model_validate(sections.get("policies"))
        tenancy = TenancyConfig.model_validate(sections.get("tenancy"))
    except ValidationError:
        return found
    for relaxed in ((), tuple(PolicyName)):
        for policy in policies_of(config, relaxed, tenancy):
            for each in (*native(policy, PolicyMode.ENFORCE), *kyverno(policy, PolicyMode.ENFORCE)):
                found[each["metadata"]["name"], each["kind"]].append(_checks(each["spec"]))
    return found


def _checks(spec: Manifest) -> str:
    """A digest of what decides about a request: neither the mode nor the messages and what these alone use."""
    checks = [each["expression"] for each in spec.get("validations", ())]
    variables = {each["name"]: each["expression"] for each in spec.get("variables", ())}
    open_names, used = [name for each in checks for name in _used(each)], dict[str, str]()
    while open_names:
        name = open_names.pop()
        if name in variables and name not in used:
            used[name] = variables[name]
            open_names += _used(variables[name])
    rest = {key: value for key, value in spec.items() if key not in ("validationActions", "validations", "variables")}
    return digest_of(rest | {"validations": checks, "variables": used})


def _used(expression: str) -> list[str]:
    """The variables that CEL uses."""
    return re.findall(r"\bvariables\.(\w+)", expression)
