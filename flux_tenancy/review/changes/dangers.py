"""What is dangerous about a changed object although nobody may do more than before.

What widens access, weakens a policy or deletes something is said elsewhere (`review.access`,
`review.changes.deletions`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from flux_tenancy.components.allowlists.source_patterns import canonical
from flux_tenancy.components.stack.cluster.protection import TAKEN_ALONG
from flux_tenancy.components.tenant.capsule.names import TENANT
from flux_tenancy.components.vocabulary.names import BUCKET, GIT_REPOSITORY, KUSTOMIZATION, OCI_REPOSITORY
from flux_tenancy.review.changes.objects import ABSENT, Action, FieldChange, ObjectChange
from flux_tenancy.review.render.rendered import PLATFORM, PROTECT, RenderedObject

# What decides which objects a sync applies, and where.
_CONTENT = {
    KUSTOMIZATION: ("spec.path", "spec.targetNamespace", "spec.sourceRef"),
    GIT_REPOSITORY: ("spec.url", "spec.ref"),
    # That they are fetched from elsewhere is a weakening.
    OCI_REPOSITORY: ("spec.ref", "spec.layerSelector"),
    BUCKET: ("spec.prefix",),
}


def dangers(changes: Iterable[ObjectChange], objects: Collection[RenderedObject]) -> Iterator[tuple[str, str]]:
    """Dangers as pairs of an owner and a sentence without a period, which names no object.

    Args:
        changes: what differs in a stack.
        objects: all that the stack would apply.
    """
    namespaces = {each.name for each in objects if each.kind == "Namespace"}
    # A tenant of Capsule makes further ones.
    places = Counter(each.owner for each in objects if each.kind in ("Namespace", TENANT))
    prunes = _prunes(objects)
    unprotected = Counter[tuple[str, str]]()
    for change in changes:
        found = change.object
        key = (found.kind, found.namespace, found.name)
        unprotected[found.owner, found.kind] += any(
            field.path == (PROTECT,) and field.before for field in change.fields
        )
        if change.action is Action.REMOVED and found.kind == "LimitRange" and found.namespace in namespaces:
            yield found.owner, "loses a LimitRange, which limits its Pods"
        elif change.action is Action.CHANGED and (found.kind in (KUSTOMIZATION, GIT_REPOSITORY) or key in prunes):
            home = found.namespace if found.owner != PLATFORM and places[found.owner] == 1 else None
            fields = [each for each in change.fields if not _is_the_same(each, home)]
            keys = [each for each in _CONTENT[found.kind] if any(field.name.startswith(each) for field in fields)]
            if keys:
                names = " and ".join(each.removeprefix("spec.") for each in keys)
                values = [
                    str(field.after)
                    for field in fields
                    if field.name.startswith(tuple(keys)) and field.after is not ABSENT
                ]
                names += f" ({', '.join(values)})" if values else ""
                then = ": Flux deletes the applied objects that are missing there" if prunes.get(key) else ""
                yield found.owner, f"syncs from another {names}{then}"
    for (owner, kind), count in unprotected.items():
        if count:
            what, which = (f"a {kind}", "it") if count == 1 else (f"{count} {kind}s", "each")
            yield owner, f"loses Pulumi's protection of {what}: an update may delete {which}, with {TAKEN_ALONG[kind]}"


def _prunes(objects: Iterable[RenderedObject]) -> dict[tuple[str, str, str], bool]:
    """Each sync and each source that a sync applies, with whether Flux prunes."""
    found: dict[tuple[str, str, str], bool] = {}
    for each in objects:
        if each.kind == KUSTOMIZATION:
            spec = each.manifest["spec"]
            source = spec.get("sourceRef", {})
            for key in (
                (KUSTOMIZATION, each.namespace, each.name),
                (source.get("kind", ""), source.get("namespace", each.namespace), source.get("name", "")),
            ):
                found[key] = found.get(key, False) or spec.get("prune", False)
    return found


def _is_the_same(field: FieldChange, home: str | None) -> bool:
    """Whether a field means the same before and after.

    Args:
        field: of a sync or a source.
        home: the only namespace in which the sync may apply anything; None if there are several.
    """
    if field.name == "spec.url":
        return canonical(str(field.before)) == canonical(str(field.after))
    return field.name == "spec.targetNamespace" and {field.before, field.after} <= {ABSENT, home}
