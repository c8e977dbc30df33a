"""Statements about what else decides on access: Pod Security, network isolation, Flux's flags and its accounts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from flux_tenancy.components.installs.flux.lockdown_flags import (
    DEFAULT_ACCOUNT,
    FORBIDDEN_FLAGS,
    LockdownFlag,
    flags_for,
)
from flux_tenancy.components.installs.flux.profile import FEATURE_GATES
from flux_tenancy.components.installs.flux.release import component_of, lane_of, version_of
from flux_tenancy.components.rbac.rights import CLUSTER
from flux_tenancy.components.rbac.subjects import Subject, SubjectKind
from flux_tenancy.components.sync.decryption import KEY_SERVICES
from flux_tenancy.components.tenant.annotations import LANE
from flux_tenancy.components.tenant.namespaces import PodSecurity
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import DEFAULT_LANE, POD_SECURITY_LABEL, TENANT_LABEL
from flux_tenancy.review.access.rules import Access
from flux_tenancy.review.access.sentences import AccessChange, name_of
from flux_tenancy.review.render.rendered import RenderedObject
from flux_tenancy.review.words import listed

# From the strictest; without a label nothing is enforced.
_LEVELS = (*(level.value for level in PodSecurity), "")
_APPLYING = ("Kustomization", "HelmRelease")
_GATES = FEATURE_GATES.removeprefix("--").removesuffix("=")
IDENTITIES = tuple(annotation for service in KEY_SERVICES.values() for annotation in service.settings.values())
"""The annotations of service accounts that name a cloud identity."""

_Objects = Mapping[tuple[str, str, str], Manifest]
"""Manifests by kind, namespace and name."""


def boundary_statements(
    old_objects: Iterable[RenderedObject], new_objects: Iterable[RenderedObject], old: Access, new: Access
) -> Iterator[AccessChange]:
    """What Pods may do and connect to, and with whose rights Flux acts, now and no longer.

    Args:
        old, new: who may do what by RBAC in them.
    """
    before, after = _by_name(old_objects), _by_name(new_objects)
    yield from _pod_security(before, after)
    yield from _isolation(before, after)
    yield from _lanes(before, after)
    yield from _flags(before, after)
    yield from _runs_as(before, after, old, new)
    yield from _applied_as(before, after, new)
    yield from _cloud_identities(before, after)


def _by_name(objects: Iterable[RenderedObject]) -> _Objects:
    return {(each.kind, each.namespace, each.name): each.manifest for each in objects}


def _pod_security(before: _Objects, after: _Objects) -> Iterator[AccessChange]:
    """A namespace that comes with the change is compared with the strictest level, which is the default."""
    for namespace, tenant in _tenants(after):
        was = _level(before[namespace]) if namespace in before else _LEVELS[0]
        level = _level(after[namespace])
        widened = _LEVELS.index(level) > _LEVELS.index(was)
        weaker = level if widened else was
        if level != was:
            what = f"Pods of the Pod Security level {weaker}" if weaker else "any Pods: Pod Security enforces no level"
            words = f"may {'now' if widened else 'no longer'} run {what}"
            # A new namespace is chosen as a whole; one that has Pods loses a guard.
            high = weaker in _LEVELS[2:] or (widened and namespace in before)
            yield AccessChange(words, widened, high, tenant, namespace[2])


def _isolation(before: _Objects, after: _Objects) -> Iterator[AccessChange]:
    isolated = [_isolated(before), _isolated(after)]
    for namespace, tenant in _tenants(after):
        was, is_now = (namespace[2] in each for each in isolated)
        if namespace in before and was is not is_now:
            may, because = ("may now", "no") if was else ("may no longer", "a")
            words = f"{may} let Pods connect to anything ({because} NetworkPolicy isolates them)"
            yield AccessChange(words, was, was, tenant, namespace[2])


def _lanes(before: _Objects, after: _Objects) -> Iterator[AccessChange]:
    """The lanes, whose controllers execute what a tenant writes, and which tenants share them."""
    lanes = [
        {lane_of(each) for (kind, _, _), each in found.items() if kind == "Deployment"} for found in (before, after)
    ]
    for lane in lanes[1] - lanes[0] - {""}:
        whose = "none" if lane == DEFAULT_LANE else "it"
        yield AccessChange(f"The lane {lane} is new: controllers for the tenants that name {whose}", True, False)
    for lane in lanes[0] - lanes[1] - {""}:
        yield AccessChange(f"The lane {lane} is removed", False, False)
    was, is_now = (_lanes_by_namespace(*each) for each in zip((before, after), lanes, strict=True))
    staying: dict[str, set[str]] = defaultdict(set)
    for namespace, tenant in _tenants(after):
        if was.get(namespace[2]) == (lane := is_now[namespace[2]]):
            staying[lane].add(tenant.name)
    for namespace, tenant in _tenants(after):
        lane = is_now[namespace[2]]
        if was.get(namespace[2], lane) != lane:
            whose = f"the lane {lane}" if lane else "the platform"
            others = sorted(staying[lane])
            together = f", together with {listed(others)}," if others else ""
            yield AccessChange(
                f"now has the controllers of {whose}{together}", not lane, not lane, tenant, namespace[2]
            )


def _lanes_by_namespace(objects: _Objects, lanes: Collection[str]) -> dict[str, str]:
    """The lane of each namespace of a tenant; empty if its tenants share the platform's controllers."""
    has_lanes = any(lanes)
    return {
        namespace[2]: objects[namespace]["metadata"].get("annotations", {}).get(LANE, DEFAULT_LANE) if has_lanes else ""
        for namespace, _ in _tenants(objects)
    }


def _tenants(objects: _Objects) -> Iterator[tuple[tuple[str, str, str], Subject]]:
    """The keys of tenants' namespaces, with their tenant."""
    for key, manifest in objects.items():
        labels = manifest["metadata"].get("labels", {})
        if key[0] == "Namespace" and TENANT_LABEL in labels:
            yield key, Subject(SubjectKind.TENANT, labels[TENANT_LABEL])


def _level(namespace: Manifest) -> str:
    level: str = namespace["metadata"].get("labels", {}).get(POD_SECURITY_LABEL, "")
    return level


def _isolated(objects: _Objects) -> set[str]:
    """The namespaces with a NetworkPolicy for the outgoing traffic of all Pods."""
    return {
        namespace
        for (kind, namespace, _), manifest in objects.items()
        if kind == "NetworkPolicy"
        and not manifest["spec"].get("podSelector")
        and "Egress" in manifest["spec"].get("policyTypes", ())
    }


def _flags(before: _Objects, after: _Objects) -> Iterator[AccessChange]:
    for key, deployment in after.items():
        controller = component_of(deployment)
        if deployment["kind"] != "Deployment" or controller is None or key not in before:
            continue
        subject = Subject(SubjectKind.ACCOUNT, controller, key[1])
        was, is_now = arguments_of(before[key]), arguments_of(deployment)
        # Those that the new release does not need protect nothing that it has.
        for flag in flags_for(controller, version_of(deployment)):
            old, new = _value(flag, was), _value(flag, is_now)
            if bool(old) is not bool(new):
                has = "no longer has the flag" if old else "now has the flag"
                may = "so that a tenant may" if old else "so that no tenant may"
                yield AccessChange(f"{has} {flag.argument}, {may} {flag.purpose}", bool(old), bool(old), subject)
            elif old != new:
                words = f"now uses the service account {new} for objects that name none, instead of {old}"
                yield AccessChange(words, True, False, subject)
        for name, reason in FORBIDDEN_FLAGS.items():
            if (name in is_now) is not (name in was):
                words = f"{'now' if name in is_now else 'no longer'} has the flag --{name}, with which {reason}"
                yield AccessChange(words, name in is_now, name in is_now, subject)


def container_of(deployment: Manifest) -> Manifest:
    """The container of a controller."""
    containers: list[Manifest] = deployment["spec"]["template"]["spec"]["containers"]
    return next((each for each in containers if each.get("name") == "manager"), containers[0] if containers else {})


def arguments_of(deployment: Manifest) -> dict[str, str]:
    """The flags of a controller."""
    return flags_in(container_of(deployment).get("args") or ())


def flags_in(arguments: Iterable[str]) -> dict[str, str]:
    """Arguments as flags; the last value of a repeated flag counts, as it does for the controller."""
    parts = (str(each).lstrip("-").partition("=") for each in arguments)
    return {name: value if separator else "true" for name, separator, value in parts}


def environment_of(deployment: Manifest) -> dict[str, str]:
    """The environment of a controller, as far as the Deployment itself states it."""
    return {each["name"]: each.get("value", "") for each in container_of(deployment).get("env") or ()}


def _value(flag: LockdownFlag, arguments: Mapping[str, str]) -> str:
    """The value of a flag; empty if the controller lacks it or has another one that does not lock it down."""
    value = arguments.get(flag.name, "")
    if flag.name == DEFAULT_ACCOUNT:
        return value
    return flag.value if flag.value in (value.split(",") if flag.name == _GATES else [value]) else ""


def _runs_as(before: _Objects, after: _Objects, old: Access, new: Access) -> Iterator[AccessChange]:
    for key, deployment in after.items():
        if deployment["kind"] != "Deployment" or key not in before:
            continue
        was, is_now = (_account(each["spec"]["template"]["spec"], key[1]) for each in (before[key], deployment))
        if was != is_now:
            more = any(
                not old.of(was, place).allows(right) and not old.of(was, CLUSTER).allows(right)
                for (subject, place), granted in new.grants.items()
                if subject == is_now
                for right in granted.all
            )
            words = f"Deployment {key[1]}/{key[2]} now runs as {name_of(is_now)} instead of {name_of(was)}"
            yield AccessChange(words, more, more)


def _account(spec: Manifest, namespace: str) -> Subject:
    return Subject(SubjectKind.ACCOUNT, spec.get("serviceAccountName", "default"), namespace)


def _applied_as(before: _Objects, after: _Objects, access: Access) -> Iterator[AccessChange]:
    """With whose rights Flux applies a repository: a tenant's own account is expected."""
    for key, manifest in after.items():
        kind, namespace, name = key
        if kind not in _APPLYING:
            continue
        account = manifest["spec"].get("serviceAccountName", "")
        was = before[key]["spec"].get("serviceAccountName", "") if key in before else None
        own = (namespace, account) in access.tenants.accounts
        if account == was or (was is None and own):
            continue
        instead = "" if was is None else f" instead of {_applier(namespace, was)}"
        words = f"Flux now applies the {kind} {name} as {_applier(namespace, account)}{instead}"
        yield AccessChange(words, not own, not own, None, namespace)


def _applier(namespace: str, account: str) -> str:
    return f"{namespace}/{account}" if account else "the controller's default account"


def _cloud_identities(before: _Objects, after: _Objects) -> Iterator[AccessChange]:
    for key in sorted({*before, *after}):
        kind, namespace, name = key
        if kind == "ServiceAccount":
            was, is_now = (_identities(each.get(key)) for each in (before, after))
            subject = Subject(SubjectKind.ACCOUNT, name, namespace)
            for identity in sorted(is_now - was):
                yield AccessChange("may now use the cloud identity", True, True, subject, target=identity)
            for identity in sorted(was - is_now):
                yield AccessChange("may no longer use the cloud identity", False, False, subject, target=identity)


def _identities(account: Manifest | None) -> set[str]:
    annotations = (account or {}).get("metadata", {}).get("annotations") or {}
    return {annotations[key] for key in IDENTITIES if key in annotations}
