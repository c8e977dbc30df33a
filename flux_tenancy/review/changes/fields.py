"""An object in a report: its changed fields as lines of a diff, or the whole of it as YAML; which changes are noise."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import unified_diff
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any

from flux_tenancy.components.config.messages import HIDDEN, printable, without_passwords
from flux_tenancy.components.plan import BACKGROUND, OWNERSHIP
from flux_tenancy.components.policies.component import PROBE_NAME
from flux_tenancy.components.tenant.annotations import PREFIX
from flux_tenancy.components.vocabulary.manifests import Manifest, qualified
from flux_tenancy.components.vocabulary.names import LANE_LABEL, TENANT_LABEL
from flux_tenancy.review.changes.objects import ABSENT, FieldChange, ObjectChange
from flux_tenancy.review.render.rendered import PLATFORM, PROTECT, RenderedObject, as_yaml

Lines = tuple[str, ...]
_VALUE = 240
"""Characters of a value that are shown."""
_AROUND = 60
"""Characters that are shown before and after the part of a long value that differs."""

# Labels and annotations of which the report has sentences.
_MEANINGFUL = (PREFIX, "pod-security.kubernetes.io/", TENANT_LABEL, LANE_LABEL)
# Labels and annotations that only describe an object. Any other may be read by a controller.
_DESCRIPTIVE_PREFIXES = ("app.kubernetes.io/", "helm.sh/chart")
_DESCRIPTIVE = ("app", "contact", "cost-center", "description", "kubernetes.io/description", "owner", "team")
# A text that nobody takes for a number or a truth value, so that it needs no quotes.
_PLAIN = re.compile(r"(?!(?:true|false|null|yes|no|on|off)$)[A-Za-z/_.<(-][^\n\"]*", re.IGNORECASE)
# Stand-ins for secrets (`components.config.types`, `review.render.stack`).
_STAND_IN = re.compile(r"<(?:encrypted|public half of encrypted|generated)[^<>]*>")
# The digest in a stand-in, which tells a reader nothing.
_SEALED = re.compile(r"(<(?:encrypted|public half of encrypted) [^<>]*) [0-9a-f]{8,}>")
_OWNERSHIP = OWNERSHIP | BACKGROUND
_SECRET = ("data", "stringData")
_IDENTITY = ("apiVersion", "kind", "metadata")
TENANT = "<tenant>"
"""Stands for the name of a tenant in what several of them have."""
# Keys whose value is the name of a namespace, an account or a tenant, and those above the name of an object.
_NAMES = frozenset({"namespace", "serviceAccountName", "targetNamespace", TENANT_LABEL})
_REFERENCES = frozenset({"metadata", "sourceRef", "secretRef", "providerRef", "dependsOn", "eventSources", "resources"})


def label(rendered: RenderedObject) -> str:
    """How an object is called, e.g. `RoleBinding apps/dev-team-reconciler`."""
    return printable(f"{rendered.kind} {qualified(rendered.namespace, rendered.name)}")


def is_noise(change: ObjectChange) -> bool:
    """Whether nothing but labels and annotations that describe an object changed in it, or the policies' digest.

    The probe of the policies has a digest of all of them, so it changes whenever one of them does.
    """
    if change.object.is_kubernetes and change.object.name.startswith(PROBE_NAME):
        return all(field.path[0] in ("metadata", "spec") for field in change.fields) and bool(change.fields)
    return bool(change.fields) and all(map(_is_description, change.fields))


def diff(change: ObjectChange) -> tuple[Lines, ...]:
    """The changed fields of an object, each as lines of a diff; those that only describe it come last.

    Values of one line are shortened to where they differ. What is in a Secret is not shown, except for stand-ins.
    """
    fields = sorted(change.fields, key=_is_description)
    return tuple(field_lines(_shown(change.object, field)) for field in fields)


def as_yaml_lines(rendered: RenderedObject) -> tuple[Lines, ...]:
    """An object as YAML, by its keys, the first of which identify it.

    What is in a Secret is not shown, and the annotations that every object of the platform has are left out.
    """
    parts: dict[str, dict[str, Any]] = {}
    for key, value in shown_manifest(rendered).items():
        shown = _without_ownership(value) if key == "metadata" else value
        parts.setdefault("" if key in _IDENTITY else key, {})[key] = shown
    found = tuple(tuple(map(_visible, as_yaml(part).splitlines())) for part in parts.values())
    return ((f"# {PROTECT}: true",), *found) if rendered.protected else found


def _without_ownership(metadata: Mapping[str, Any]) -> dict[str, Any]:
    annotations = metadata.get("annotations") or {}
    others = {key: value for key, value in annotations.items() if _OWNERSHIP.get(key) != value}
    return {
        key: others if key == "annotations" else value
        for key, value in metadata.items()
        if key != "annotations" or others
    }


def masked(change: ObjectChange) -> ObjectChange:
    """A change with placeholders where it names its object, namespace or tenant, and without digests of secrets.

    A value that only equals such a name, like the role `admin` of the tenant `admin`, stays. So two changes are alike
    if and only if they are equal.
    """
    found = change.object
    names = {found.name: "<name>", found.namespace: "<namespace>"}
    names |= {} if found.owner == PLATFORM else {found.owner: TENANT}
    mask = partial(_masked, names=names, owner=found.owner)
    fields = (
        FieldChange(each.path, mask(each.before, each.path), mask(each.after, each.path)) for each in change.fields
    )
    return replace(change, object=replace(found, manifest=mask(found.manifest, ())), fields=tuple(fields))


def _masked(
    value: Any,
    path: Sequence[str | int],
    names: Mapping[str, str],
    owner: str,
    siblings: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """A value at a path.

    Args:
        names: placeholders by name.
        siblings: the mapping that has the last key of the path, as far as it is known.
    """
    if isinstance(value, Mapping):
        return {key: _masked(each, (*path, key), names, owner, value) for key, each in value.items()}
    if isinstance(value, list):
        return [_masked(each, path, names, owner, siblings) for each in value]
    if not isinstance(value, str):
        return value
    return masked_names(value, names) if _is_a_name(path, siblings) else _masked_secret(value, owner)


def _is_a_name(path: Sequence[str | int], siblings: Mapping[str, Any]) -> bool:
    """Whether the value at a path names an object, a namespace or a tenant."""
    keys = [each for each in path if isinstance(each, str) and not each.startswith("[")]
    *_, parent, key = ("", "", *keys)
    if key == "name":
        return parent in _REFERENCES or siblings.get("kind") == "ServiceAccount"
    return key in _NAMES or (key == "resourceNames" and siblings.get("resources") == ["serviceaccounts"])


def masked_key(field: FieldChange, owner: str) -> FieldChange:
    """A changed key with a placeholder where it names its tenant, and without digests of secrets."""
    path = ("tenants", TENANT, *field.path[2:]) if field.path[:2] == ("tenants", owner) else field.path
    return FieldChange(path, *(_masked(each, (), {}, owner) for each in (field.before, field.after)))


def _masked_secret(text: str, owner: str) -> str:
    return re.sub(rf"(?<=encrypted tenants\.){re.escape(owner)}(?=[. \[])", TENANT, without_digests(text))


def without_digests(text: str) -> str:
    """A text without the digests of secrets, which differ between stacks where the change is the same."""
    return _SEALED.sub(r"\1 …>", text)


def masked_names(text: str, names: Mapping[str, str]) -> str:
    """A text with placeholders in place of names, as whole words."""
    found = sorted(filter(None, names), key=len, reverse=True)
    if not found:
        return text
    pattern = f"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, found))})(?![A-Za-z0-9])"
    return re.sub(pattern, lambda match: names[match[0]], text)


def shown_manifest(rendered: RenderedObject) -> Manifest:
    """An object as a report may show it: no password in a URL, and no text of a Secret that is not a stand-in."""
    if rendered.kind != "Secret":
        return dict(_without_passwords(rendered.manifest))
    return {key: _without_secrets(value) if key in _SECRET else value for key, value in rendered.manifest.items()}


def shown_value(rendered: RenderedObject, field: FieldChange, value: Any) -> Any:
    """A field's value as a report may show it: no password in a URL, and no text of a Secret that is not a stand-in."""
    is_secret = value is not ABSENT and rendered.kind == "Secret" and field.path[0] in _SECRET
    return _without_secrets(value) if is_secret else _without_passwords(value)


def _without_passwords(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_passwords(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_passwords(item) for item in value]
    return without_passwords(value) if isinstance(value, str) else value


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_secrets(item) for key, item in value.items()}
    return value.strip() if isinstance(value, str) and _STAND_IN.fullmatch(value.strip()) else HIDDEN


def is_meaningful(key: str) -> bool:
    """Whether the report has sentences of a label or an annotation."""
    return key.startswith(_MEANINGFUL)


def is_descriptive(key: str, value: Any = None) -> bool:
    """Whether a label or an annotation only describes an object, or marks it as Pulumi's own.

    Args:
        value: its value; None for any.
    """
    if key in _OWNERSHIP and value in (None, _OWNERSHIP[key]):
        return True
    return key in _DESCRIPTIVE or key.startswith(_DESCRIPTIVE_PREFIXES)


def _is_description(field: FieldChange) -> bool:
    """Whether a field is a label or an annotation without meaning to the platform, of the object or of its Pods."""
    path = list(field.path)
    if path[:2] == ["spec", "template"]:
        del path[:2]
    if len(path) < 2 or path[0] != "metadata" or path[1] not in ("labels", "annotations"):
        return False
    keys: Iterable[Any] = path[2:3] or [
        *(field.before if isinstance(field.before, dict) else ()),
        *(field.after if isinstance(field.after, dict) else ()),
    ]
    return all(is_descriptive(str(key)) for key in keys)


def _shown(rendered: RenderedObject, field: FieldChange) -> FieldChange:
    before, after = (shown_value(rendered, field, value) for value in (field.before, field.after))
    return FieldChange(field.path, before, after)


def field_lines(field: FieldChange) -> Lines:
    """A field as lines of a diff; values of one line are shortened to where they differ."""
    return tuple(map(_visible, _field(field)))


def _field(field: FieldChange) -> Iterator[str]:
    before, after = field.before, field.after
    if isinstance(before, str) and isinstance(after, str) and "\n" in before + after:
        yield f"  {field.name}:"
        yield from _texts(before, after)
        return
    old, new = (None if value is ABSENT else _text(value) for value in (before, after))
    if old is not None and new is not None:
        old, new = shortened(old, new, _VALUE)
    if old is not None:
        yield f"- {field.name}: {_cut(old)}"
    if new is not None:
        yield f"+ {field.name}: {_cut(new)}"


def _texts(before: str, after: str) -> Iterator[str]:
    """The lines that differ in two texts of several lines."""
    found = unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    # The first two lines are a heading; a removed line may begin like it.
    for line in islice(found, 2, None):
        if not line.startswith("@@"):
            yield f"{line[0]}   {_cut(line[1:])}"


def _text(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def shortened(before: str, after: str, longest: int) -> tuple[str, str]:
    """Two values without what both begin and end with, if one is longer than `longest`."""
    if max(len(before), len(after)) <= longest:
        return before, after
    start = next(
        (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )
    most = min(len(before), len(after)) - start
    end = next(
        (i for i, (a, b) in enumerate(zip(reversed(before), reversed(after), strict=False)) if a != b or i >= most),
        most,
    )
    return _around(before, start, end), _around(after, start, end)


def _around(text: str, start: int, end: int) -> str:
    first, last = max(0, start - _AROUND), min(len(text), len(text) - end + _AROUND)
    return f"{'…' if first else ''}{text[first:last]}{'…' if last < len(text) else ''}"


def _cut(text: str) -> str:
    return text if len(text) <= _VALUE else f"{text[:_VALUE]}… ({len(text) - _VALUE} more characters)"


def _visible(line: str) -> str:
    """A line in which characters that control a terminal or disguise text are escaped, its spaces as they are."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in line)
