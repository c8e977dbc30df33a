"""What the platform team can write to accept a refused object, from `openings.yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from flux_tenancy.components.config.yaml_files import data_of
from flux_tenancy.components.tenant.role import owner_of
from flux_tenancy.components.vocabulary.manifests import Manifest, parse_quantity
from flux_tenancy.components.vocabulary.names import POD_SECURITY_LABEL
from flux_tenancy.extensions.tenant_check.envelope import Envelope

_SETTING = re.compile(r"\((policies\.[a-zA-Z.]+)\)|allow it in (policies\.[a-zA-Z.]+)")
_QUOTA = re.compile(r"exceeded quota: \S+ requested: (?P<requested>\S+), used: (?P<used>\S+), limited: ")


@dataclass(frozen=True)
class Opening:
    """What the platform team can write.

    Attributes:
        tenant: keys of the tenant.
        stack: sections of the stack.
        setting: the key that opens it, where its value is for the platform team to choose; otherwise empty.
    """

    tenant: Mapping[str, Any]
    stack: Mapping[str, Any]
    setting: str = ""


def opening_of(rule: str, message: str, manifest: Manifest, envelope: Envelope) -> Opening | None:
    """What opens the way for an object; None if nothing does.

    Args:
        rule: what refuses it.
        message: why.
        manifest: the object that is refused; of a workload, its Pod.
        envelope: what decides now.
    """
    for row in _table():
        own = "|".join(re.escape(each["metadata"]["name"]) for each in envelope.namespaces)
        found = re.search(row["message"].replace("{namespaces}", f"(?:{own})"), message)
        if row["rule"] != rule or found is None:
            continue
        if row.get("custom") and owner_of(found["groups"]) is not None:
            continue
        if row.get("baseline"):
            return Opening({"namespaces": _at_baseline(envelope, manifest["metadata"]["namespace"])}, {})
        words = {
            name: [re.sub(row.get("without", "$^"), "", word) for word in text.split(", ")]
            for name, text in {**found.groupdict(), "name": str(manifest["metadata"].get("name"))}.items()
        }
        return Opening(*(_filled(row.get(key, {}), words) for key in ("tenant", "stack")))
    setting = _SETTING.search(message)
    return Opening({}, {}, setting[1] or setting[2]) if setting else None


def merged(values: Iterable[Any]) -> Any:
    """Several patches as one: mappings by their keys, lists without repetitions, otherwise the last."""
    every = list(values)
    if all(isinstance(each, Mapping) for each in every):
        keys = dict.fromkeys(key for each in every for key in each)
        return {key: merged(each[key] for each in every if key in each) for key in keys}
    if all(isinstance(each, list) for each in every):
        flat = [item for each in every for item in each]
        return [item for number, item in enumerate(flat) if item not in flat[:number]]
    return every[-1]


def needed_limits(messages: Iterable[str]) -> dict[str, Any]:
    """The limits of the tenant that suffice for everything that quotas have refused."""
    needed: dict[str, Any] = {}
    for message in messages:
        if found := _QUOTA.search(message):
            used = dict(each.split("=") for each in found["used"].split(","))
            for each in found["requested"].split(","):
                resource, amount = each.split("=")
                first = re.match(r"\D*(\d+) of \d+: ", message)
                count = int(first[1]) if first else 1
                needed[resource] = needed.get(resource, parse_quantity(used[resource])) + count * parse_quantity(amount)
    of_objects = {key.removeprefix("count/"): int(value) for key, value in needed.items() if key.startswith("count/")}
    kustomizations = of_objects.pop("kustomizations.kustomize.toolkit.fluxcd.io", None)
    of_quota = {key: str(value) for key, value in needed.items() if not key.startswith("count/")}
    own = {"kustomizations": kustomizations, "objects": of_objects, "quota": of_quota}
    return {key: value for key, value in own.items() if value}


def _filled(value: Any, words: Mapping[str, list[str]]) -> Any:
    if isinstance(value, Mapping):
        return {key: _filled(child, words) for key, child in value.items()}
    if isinstance(value, list):
        return [item for each in value for item in _filled_item(each, words)]
    return value


def _filled_item(item: Any, words: Mapping[str, list[str]]) -> list[Any]:
    is_placeholder = isinstance(item, str) and item.startswith("{")
    return words[item[1:-1]] if is_placeholder else [_filled(item, words)]


def _at_baseline(envelope: Envelope, namespace: str) -> list[dict[str, str]]:
    """All namespaces of the tenant, since a stack replaces lists: this one at `baseline`."""
    levels = {
        each["metadata"]["name"]: each["metadata"]["labels"].get(POD_SECURITY_LABEL, "") for each in envelope.namespaces
    }
    levels[namespace] = "baseline"
    return [
        {"name": name} | ({"podSecurity": level} if level not in ("", "restricted") else {})
        for name, level in levels.items()
    ]


@cache
def _table() -> list[dict[str, Any]]:
    table: list[dict[str, Any]] = data_of(__file__, "openings.yaml")
    return table
