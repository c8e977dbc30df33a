"""Attempts and controls as rows of YAML: `attempts.yaml`, `controls.yaml`, and their objects in `objects.yaml`.

A row asks the cluster by requests, by questions to RBAC and by inspections; each is a proof of one layer. In its
values, `$name` stands for what the suite has found in the cluster (`_found`), and `{}` for each value of `each`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cache
from string import Template
from typing import Any

from pydantic import Field

from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.yaml_files import data_of
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.policies.rendering import object_name
from flux_tenancy.components.tenant.annotations import EXCEPTIONS, SERVICE_TYPES
from flux_tenancy.components.vocabulary.manifests import Manifest, merge_patch
from flux_tenancy.components.vocabulary.names import Controller
from flux_tenancy.isolation.attempts.inspections import INSPECTIONS, has_flag, lacks_flags
from flux_tenancy.isolation.model import (
    NAME,
    AccessReview,
    Attempt,
    Control,
    Finding,
    Layer,
    Live,
    Proof,
    Request,
    State,
)
from flux_tenancy.isolation.scene import RESOURCES, Scene

# Messages of Flux's controllers about references to other namespaces. The referenced objects do not exist, so the
# attempts have no effect.
BLOCKED = r"cross-namespace references (?:have been blocked|are not allowed)|[Aa]ccess denied"
NOT_FOUND = r"not found|NotFound"
_MANY = 300


class ByChoice(Section):
    """Why a platform may leave an attempt open.

    Attributes:
        because: the reason in words.
        opened: the reason counts only where the stack opens this kind, or no stack says what is open.
        exception: a grant excepts the tenant's objects of any name from this policy.
        service_type: a grant allows this type of Services.
    """

    because: str = ""
    opened: str = ""
    exception: PolicyName | None = None
    service_type: str = ""


class Row(Section):
    """An attempt or a control.

    Attributes:
        id: its key, which begins with the number of the threat.
        each: the values for which there is an attempt each; in `id` and `name` without an API group.
        if_served: whether there is no attempt where the cluster does not serve the kind of `each`.
        create: kinds of objects that are created.
        patch, delete: the kind of an object that exists.
        called: its name; otherwise the first that the namespace has.
        change: the patch, or what is sent to the subresource.
        with_: changes of the object, as a merge patch.
        pod, container, claim: the same for its pods, their first container, and its volume claim.
        baseline: the changes of the object without what is attempted; False if it is not compared with one.
        refused_by: the layers that may refuse it; Pod Security judges Pods alone.
        live: whether the object is also created for Flux to report on, without `suspend`.
        access: questions to RBAC, as for `kubectl auth can-i`: a verb, a resource with its group, and the namespace.
        flags: flags that all instances of a controller must have, with this value or with any.
        without_flags: flags that none may have.
        inspected: what is inspected (`inspections.py`), with what it is about.
        by_choice: why a platform may leave this open.
    """

    id: str
    name: str = ""
    each: list[str] = []
    if_served: bool = False
    create: str | list[str] = []
    patch: str = ""
    delete: str = ""
    called: str = ""
    subresource: str = ""
    change: dict[str, Any] | None = None
    with_: dict[str, Any] = Field({}, alias="with")
    pod: dict[str, Any] = {}
    container: dict[str, Any] = {}
    claim: dict[str, Any] | None = None
    baseline: dict[str, Any] | bool = True
    refused_by: list[Layer] = [Layer.ADMISSION]
    live: bool = False
    access: list[str] = []
    flags: list[str] = []
    without_flags: list[str] = []
    inspected: dict[str, str | None] = {}
    by_choice: ByChoice = ByChoice()


def attempts_of(scene: Scene) -> Iterator[Attempt]:
    """The attempts of `attempts.yaml` in a cluster."""
    for row in _rows("attempts.yaml", scene):
        if proofs := tuple(_proofs(row, scene)):
            yield Attempt(row.id, int(row.id.partition("-")[0]), row.name, proofs, _reason(row.by_choice, scene))


def controls_of(scene: Scene) -> Iterator[Control]:
    """The controls of `controls.yaml` in a cluster."""
    for row in _rows("controls.yaml", scene):
        for proof in _proofs(row, scene):
            if isinstance(proof, Request | AccessReview):
                yield Control(row.id, row.name, proof)


def made(scene: Scene, kind: str, with_: Manifest | None = None) -> Manifest:
    """An object of the suite's; its API version is empty if the cluster does not serve the kind.

    Args:
        with_: changes of the object in `objects.yaml`, as a merge patch.
    """
    content = _filled(_read("objects.yaml").get(kind, {}), _found(scene))
    own = scene.of_home(kind) if kind == "GitRepository" else []
    if own:
        # The host of another one would be refused, whatever is attempted.
        content = {"spec": deepcopy(own[0]["spec"]) | {"suspend": True}}
    identity = named(scene, kind, NAME)
    changed: Manifest = merge_patch({**identity, **content}, with_ or {})
    return changed


def named(scene: Scene, kind: str, name: str) -> Manifest:
    """The identity of an object."""
    metadata = {"name": name} if kind == "Namespace" else {"name": name, "namespace": scene.tenancy.home}
    served = scene.kinds.get(kind)
    return {"apiVersion": served.api_version if served else "", "kind": kind, "metadata": metadata}


def _on_existing(scene: Scene, kind: str, verb: str, subresource: str, change: Manifest | None) -> Iterator[Proof]:
    """Proofs for a subresource by role and admission; admission is asked only about an existing object."""
    yield AccessReview(verb, *RESOURCES[kind], scene.tenancy.home, subresource)
    existing = scene.of_home(kind)
    if not existing:
        yield Finding(Layer.ADMISSION, State.UNPROVEN, f"the namespace has no {kind} to try it on")
        return
    target = named(scene, kind, existing[0]["metadata"]["name"])
    if verb == "create":
        change = {"metadata": target["metadata"], **(change or {})}
    yield Request(target, (Layer.ROLE, Layer.ADMISSION), verb, subresource, change)


def _proofs(row: Row, scene: Scene) -> Iterator[Proof]:
    if row.subresource and not row.called:
        verb, kind = _verb_and_kind(row)
        yield from _on_existing(scene, kind, verb, row.subresource, row.change)
    elif row.called or row.delete:
        yield from _asked_of_named(row, scene)
    else:
        for kind in _kinds(row):
            yield from _creating(row, kind, scene)
    for each in row.flags:
        controller, _, flag = each.partition(" --")
        name, is_valued, value = flag.partition("=")
        yield has_flag(scene, Controller(controller), name, value if is_valued else None)
    for each in row.without_flags:
        controller, *names = each.split(" --")
        yield lacks_flags(scene, Controller(controller), names)
    for each in row.access:
        question, _, namespace = each.partition(" in ")
        verb, resource = question.split(" ")
        name, _, group = resource.partition(".")
        yield AccessReview(verb, group, name, namespace)
    for name, about in row.inspected.items():
        yield from INSPECTIONS[name](scene, *([about] if about else []))


def _asked_of_named(row: Row, scene: Scene) -> Iterator[Proof]:
    verb, kind = _verb_and_kind(row)
    for existing in [row.called] if row.called else [each["metadata"]["name"] for each in scene.of_home(kind)[:1]]:
        yield Request(named(scene, kind, existing), tuple(row.refused_by), verb, row.subresource, row.change)


def _creating(row: Row, kind: str, scene: Scene) -> Iterator[Proof]:
    tried = _placed(made(scene, kind, row.with_), row, scene)
    unchanged = row.model_copy(update={"pod": {}, "container": {}, "claim": row.claim and {}})
    compared = None
    if row.baseline is not False:
        compared = _placed(made(scene, kind, {} if row.baseline is True else row.baseline), unchanged, scene)
    layers = [layer for layer in row.refused_by if layer is not Layer.POD_SECURITY or kind == "Pod"]
    yield Request(tried, tuple(layers), baseline=compared)
    if row.live:
        yield Live(merge_patch(tried, {"spec": {"suspend": None}}), BLOCKED, NOT_FOUND)


def _placed(manifest: Manifest, row: Row, scene: Scene) -> Manifest:
    """An object with the changes of its pods, of their first container, and of its volume claim."""
    if row.claim is not None and manifest["kind"] == "StatefulSet":
        claim = made(scene, "PersistentVolumeClaim", row.claim)
        template = {"metadata": {k: v for k, v in claim["metadata"].items() if k != "namespace"}, "spec": claim["spec"]}
        manifest["spec"]["volumeClaimTemplates"] = [template]
    elif row.claim is not None:
        manifest = merge_patch(manifest, row.claim)
    if not row.pod and not row.container:
        return manifest
    spec = manifest["spec"]
    while "containers" not in spec:
        spec = spec.get("jobTemplate", spec.get("template"))["spec"]
    changed = merge_patch(spec, row.pod)
    changed["containers"] = [merge_patch(spec["containers"][0], row.container), *spec["containers"][1:]]
    spec.clear()
    spec.update(changed)
    return manifest


def _reason(choice: ByChoice, scene: Scene) -> str:
    annotations = scene.namespace["metadata"].get("annotations") or {}
    if choice.exception and choice.exception in annotations.get(EXCEPTIONS, "").split():
        return f"a grant of the tenant is an exception from {choice.exception}"
    if choice.service_type and choice.service_type in annotations.get(SERVICE_TYPES, "").split():
        return f"a grant of the tenant allows {choice.service_type}"
    is_closed = choice.opened and scene.opened is not None and choice.opened not in scene.opened
    return "" if is_closed else choice.because


def _verb_and_kind(row: Row) -> tuple[str, str]:
    asked = {"create": row.create, "patch": row.patch, "delete": row.delete}
    return next((verb, str(kind)) for verb, kind in asked.items() if kind)


def _kinds(row: Row) -> Sequence[str]:
    return [row.create] if isinstance(row.create, str) else row.create


def _rows(file: str, scene: Scene) -> Iterator[Row]:
    for row in _filled(_read(file), _in_rows(scene)):
        if "each" not in row:
            yield Row.model_validate(row)
        for value in dict.fromkeys(row.get("each", ())):
            if value in scene.kinds or not row.get("ifServed"):
                short = value.partition(".")[0]
                names = {"id": row["id"].replace("{}", short.lower()), "name": row["name"].replace("{}", short)}
                yield Row.model_validate(_for(value, row | names))


@cache
def _read(file: str) -> Any:
    return data_of(__file__, file)


def _for(value: str, content: Any) -> Any:
    """The content with a value of `each` in place of `{}`."""
    match content:
        case str():
            return content.replace("{}", value)
        case list():
            return [_for(value, each) for each in content]
        case Mapping():
            return {key: _for(value, each) for key, each in content.items()}
    return content


def _filled(content: Any, found: Mapping[str, Any]) -> Any:
    """The content with what stands for `$name`."""
    match content:
        case str():
            whole = found.get(content[1:], content) if content.startswith("$") else content
            return Template(content).safe_substitute(found) if whole == content else deepcopy(whole)
        case list():
            return [_filled(each, found) for each in content]
        case Mapping():
            return {key: _filled(each, found) for key, each in content.items()}
    return content


# Values that are too long to write. Texts are far above what a stack allows, and below the API server's own limits.
_LONG: Mapping[str, Any] = {
    "longExpression": "size('a') + " * 200 + "1 > 0",
    "text512KiB": "a" * 512 * 1024,
    "text900kB": "a" * 900_000,
    "volumes": [
        {"name": f"volume-{number}", "projected": {"sources": [{"configMap": {"name": NAME}}]}}
        for number in range(_MANY)
    ],
    "owners": [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": NAME, "uid": f"isolation-{number}"} for number in range(_MANY)
    ],
}


def _found(scene: Scene) -> Mapping[str, Any]:
    """What stands for `$name` in an object: what the suite has found in the cluster."""
    source_kind, source_name = _own_source(scene)
    return {
        "home": scene.tenancy.home,
        "account": scene.tenancy.account,
        "foreign": scene.foreign,
        "flux": scene.flux,
        "image": scene.image,
        "role": bound_role(scene),
        "storageClass": _storage_class(scene),
        "sourceKind": source_kind,
        "sourceName": source_name,
        "policy": object_name(PolicyName.HOST_ACCESS),
    }


def _storage_class(scene: Scene) -> str:
    """The class of a claim for a new volume; a cluster admits one that it does not have, and refuses none at all."""
    names = [
        each["metadata"]["name"]
        for each in scene.storage_classes
        if each.get("provisioner") != "kubernetes.io/no-provisioner"
    ]
    allowed = scene.allowed_classes
    return next((each for each in (*names, *(allowed or ())) if allowed is None or each in allowed), NAME)


def _in_rows(scene: Scene) -> Mapping[str, Any]:
    """What stands for `$name` in a row: values that are too long to write, too."""
    check = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": scene.tenancy.home}
    return {
        **_found(scene),
        **_LONG,
        "healthChecks": [check | {"name": f"{NAME}-{number}"} for number in range(1000)],
        "containers": [{"name": f"main-{number}", "image": scene.image} for number in range(_MANY)],
    }


def _own_source(scene: Scene) -> tuple[str, str]:
    """Kind and name of the tenant's own source."""
    for sync in scene.of_home("Kustomization"):
        reference = sync["spec"]["sourceRef"]
        if reference.get("namespace", scene.tenancy.home) == scene.tenancy.home:
            return reference["kind"], reference["name"]
    sources = scene.of_home("GitRepository")
    return "GitRepository", sources[0]["metadata"]["name"] if sources else NAME


def platforms_bindings(scene: Scene) -> list[Manifest]:
    """The RoleBindings that bind the tenant's account."""
    return [
        each
        for each in scene.of_home("RoleBinding")
        if any(subject["name"] == scene.tenancy.account for subject in each.get("subjects", ()))
    ]


def bound_role(scene: Scene) -> str:
    """The ClusterRole of the tenant's account."""
    bindings = [each for each in platforms_bindings(scene) if each["roleRef"]["kind"] == "ClusterRole"]
    return bindings[0]["roleRef"]["name"] if bindings else "view"
