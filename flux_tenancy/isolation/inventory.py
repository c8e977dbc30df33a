"""The inventory of a tenant in a cluster that a stack describes: what is in force there and is not as intended.

Attempts find what is open to a request; the inventory finds what was added, changed or removed by hand, wherever it is.
What `flux-tenancy drift show` reports is told in terms of the tenant. To it are added the namespaces that no stack
lists, and whether the engines enforce the policies.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from kubernetes import client

from flux_tenancy.components.cluster.client import find_object, path_of, refusal
from flux_tenancy.components.config.errors import dotted
from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.installs.capsule import DRY_RUNS as CAPSULE_DRY_RUNS
from flux_tenancy.components.installs.kyverno import KYVERNO
from flux_tenancy.components.policies.component import PROBE_NAME, PROBE_PATH, probe_request
from flux_tenancy.components.policies.config import PolicyEngine
from flux_tenancy.components.rbac.subjects import SubjectKind, subjects_of, subjects_within
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.tenant.annotations import EXCEPTIONS, SERVICE_TYPES
from flux_tenancy.components.tenant.role import Role
from flux_tenancy.components.vocabulary.manifests import Manifest, name_of, resource_type
from flux_tenancy.components.vocabulary.names import POD_SECURITY_LABEL, TENANT_LABEL
from flux_tenancy.isolation.asking import Asker
from flux_tenancy.isolation.model import NAME, Discrepancy, Request
from flux_tenancy.isolation.scene import Tenancy, served
from flux_tenancy.operations.admission.answers import MAY_NOT, Response
from flux_tenancy.operations.admission.dry_run import answered
from flux_tenancy.operations.admission.policies import failing_open, webhooks_for
from flux_tenancy.operations.drift.differences import Difference, What, content_changes, is_former_manager
from flux_tenancy.operations.drift.foreign_grants import (
    APPLIERS,
    CLUSTER_ROLE_BINDING,
    ROLE_BINDING,
    Reach,
    applied_by_stack,
    foreign_objects,
    grant_of,
)
from flux_tenancy.operations.drift.generated import Generated, tenant_of, tenants_by_namespace
from flux_tenancy.operations.drift.kyverno_settings import RESTORE_KYVERNO
from flux_tenancy.operations.drift.lists import NAMESPACE, NATIVE_POLICY, NETWORK_POLICY, Lists
from flux_tenancy.operations.drift.managed_fields import MISSING, shown
from flux_tenancy.operations.drift.recorded_state import RecordedState
from flux_tenancy.operations.drift.search import Drift, drift_of
from flux_tenancy.project.errors import OperationError

DIFFERS = Message(
    "FT-ISO-100",
    "an object of the stack differs from the stack",
    "restore it with `flux-tenancy drift repair` and `pulumi up`, or declare the change in the stack",
)
ABSENT = Message(
    "FT-ISO-101",
    "an object of the stack is missing",
    "create it again with `flux-tenancy drift repair` and `pulumi up`",
)
BINDING = Message(
    "FT-ISO-102",
    "a binding gives rights that the stack does not give",
    "delete the binding, or declare the rights in the stack: as a grant, or under people",
)
UNLISTED = Message(
    "FT-ISO-104",
    "a namespace has the label of a tenant that does not list it in the stack",
    f"list it in the tenant's namespaces, or remove the label {TENANT_LABEL}",
)
NOT_ENFORCED = Message(
    "FT-ISO-106",
    "an engine does not enforce the policies",
    "find out why, then run `flux-tenancy drift repair` and `pulumi up`",
)
UNCALLED = Message(
    "FT-ISO-107",
    "Kyverno's webhooks leave out a tenant's namespace, or fail open",
    "compare the webhooks with Kyverno's settings, and restart Kyverno's admission controller",
)
NOT_COMPARED = Message(
    "FT-ISO-108",
    "the API server does not answer the dry run of an object of the stack",
    "use credentials with cluster-admin rights, and check that the cluster's webhooks answer",
)
LEFT_OUT = Message(
    "FT-ISO-109",
    "Kyverno's settings exclude requests that its policies would refuse, or one of its controllers does not run",
    f"restore what is of Kyverno's chart: `{RESTORE_KYVERNO}`",
)
DRIFTED = Message(
    "FT-ISO-111",
    "the cluster differs from what the last update applied",
    "run `flux-tenancy drift show`, delete what is not of the stack, and restore the rest with `flux-tenancy up`",
)
FOREIGN: Mapping[str, Message] = {
    "RoleBinding": BINDING,
    "ClusterRoleBinding": BINDING,
    "NetworkPolicy": Message(
        "FT-ISO-103",
        "a network policy opens connections that the stack closes",
        "delete it, or declare the opening under network of the tenant",
    ),
    "PolicyException": Message(
        "FT-ISO-105", "an exemption from Kyverno's policies", "delete it, or declare a grant of the tenant"
    ),
    "ClusterRole": Message(
        "FT-ISO-110",
        "a ClusterRole adds rights to a role of Kubernetes that somebody has",
        "remove its labels `rbac.authorization.k8s.io/aggregate-to-…`, or give the tenant its rights as a grant",
    ),
}
"""What an object of nobody is, by its kind; any other one is drift."""

NOTHING = "nothing"
_MOST, _LENGTH = 3, 160
# What a namespace gets by grants, which only files of the stack have.
_GRANTED = (EXCEPTIONS, SERVICE_TYPES, POD_SECURITY_LABEL)
KYVERNO_POLICY = "kubernetes:policies.kyverno.io/v1:ValidatingPolicy"
_POLICIES = {PolicyEngine.NATIVE: NATIVE_POLICY, PolicyEngine.KYVERNO: KYVERNO_POLICY}
_WEBHOOKS = "kubernetes:admissionregistration.k8s.io/v1:ValidatingWebhookConfiguration"
_KYVERNO_WEBHOOK = "vpol.validate.kyverno.svc-fail"


class StackInventory:
    """Holds a cluster against a stack.

    Args:
        api: a client for the cluster, whose user may impersonate tenants and do dry runs.
        recorded: what the last update has applied.
    """

    def __init__(self, api: client.ApiClient, config: StackConfig, recorded: RecordedState) -> None:
        self._api, self._config, self._recorded = api, config, recorded
        self._asker = Asker(api, served(api))
        self._generated = Generated(recorded)
        self._listed = tenants_by_namespace(each.inputs for each in recorded.objects if each.type == NAMESPACE)

    def read(self) -> Drift:
        """What differs from the last update now, with the cluster as it was read.

        Raises:
            OperationError: this user may not list everything.
            ClusterUnavailable: the cluster does not answer.
        """
        found = drift_of(self._api, self._recorded)
        if found.unread:
            raise OperationError(MAY_NOT(action=f"list {', '.join(found.unread)}", message="the inventory needs them"))
        return found

    def of(self, tenant: Tenancy, drift: Drift) -> tuple[Discrepancy, ...]:
        """What is not as intended for a tenant: in its namespaces, of its accounts elsewhere, and for all tenants.

        Args:
            drift: what differs (`read`).

        Raises:
            ClusterUnavailable: the cluster does not answer.
        """
        lists = drift.lists
        made = {
            each["metadata"]["name"]: each
            for each in lists[NAMESPACE]
            if tenant_of(each) == tenant.name and self._generated.allows(each)
        }
        provisioned = [one for each in made.values() for one in self._generated.contents(each)]
        owners = self._owners(lists)
        differing = [
            each
            for each in drift.differences
            if owners.get(_place(each)) in (None, tenant.name) and not is_former_manager(each)
        ]
        differing += self._in_made(made, provisioned, lists)
        found = [
            *self._told(each for each in differing if not self._may_be_its_own(tenant, each, lists)),
            *self._unlisted(tenant, lists),
            *self._uncalled([name for name, owner in self._listed.items() if owner == tenant.name] + [*made], lists),
            *self._engines(),
        ]
        found += self._contents(provisioned, lists)
        return tuple(sorted(dict.fromkeys(found), key=lambda each: (each.namespace, each.target, each.code)))

    # ---- what drift shows ----

    def _owners(self, lists: Lists) -> dict[str, str | None]:
        """The tenant of each namespace with a label that the stack, Capsule or Kyverno explains, or that it lists."""
        explained = (
            each for each in lists[NAMESPACE] if tenant_of(each) in self._config.tenants or self._generated.allows(each)
        )
        return tenants_by_namespace(explained) | self._listed

    def _told(self, found: Iterable[Difference]) -> Iterator[Discrepancy]:
        """One discrepancy for each object, whose fields are listed."""

        def key(each: Difference) -> tuple[str, ...]:
            return _message(each).code, _place(each), each.kind, each.name

        for _, group in groupby(sorted(found, key=key), key):
            first, *rest = group
            yield Discrepancy.of(
                _message(first),
                _place(first),
                f"{first.kind} {first.name}",
                *described([(each.field or each.what.value, each.stack, each.cluster) for each in (first, *rest)]),
            )

    def _may_be_its_own(self, tenant: Tenancy, each: Difference, lists: Lists) -> bool:
        """Whether a tenant that is meant to write bindings could have written this one, for others than itself."""
        config = self._config.tenants.get(tenant.name)
        may_bind = config is not None and (
            config.role is not Role.TENANT or each.namespace in config.delegated_namespaces
        )
        if not (tenant.account and may_bind and each.what is What.FOREIGN and each.kind == "RoleBinding"):
            return False
        found = next(one for one in lists[ROLE_BINDING] if _is(one, each))
        content = {key: value for key, value in found.items() if key not in ("metadata", "status")}
        request = Request(content | {"metadata": {"name": NAME, "namespace": each.namespace}}, ())
        for_others = all(
            subject.kind is SubjectKind.ACCOUNT
            and subject.namespace == each.namespace
            and subject.name not in (tenant.account, "default")
            for subject, _ in subjects_of(found)
        )
        return for_others and not self._asker.dry_run(request, tenant.user).refused

    # ---- namespaces that the stack does not list ----

    def _unlisted(self, tenant: Tenancy, lists: Lists) -> Iterator[Discrepancy]:
        """Namespaces with the label of this tenant, or of one that the stack does not know."""
        for each in lists[NAMESPACE]:
            label, name = tenant_of(each), name_of(each)
            if label in (None, self._listed.get(name)) or self._generated.allows(each):
                continue
            if label == tenant.name or label not in self._config.tenants:
                owner = self._listed.get(name) or "of no tenant"
                yield Discrepancy.of(UNLISTED, name, f"Namespace {name}", f"{TENANT_LABEL}: {label}", owner)

    def _in_made(
        self, made: Mapping[str, Manifest], provisioned: Iterable[Manifest], lists: Lists
    ) -> Iterator[Difference]:
        """Bindings and network policies of nobody there, and bindings elsewhere of their accounts."""
        provided = {(resource_type(each), name_of(each)) for each in provisioned}
        known = self._recorded.keys | self._generated.bindings(lists) | provided
        reach = Reach({name: each["metadata"]["labels"] for name, each in made.items()}, (), (), ())
        looked = {type_: lists.get(type_, ()) for type_ in (ROLE_BINDING, NETWORK_POLICY, *APPLIERS)}
        applied = applied_by_stack(looked, known)
        yield from foreign_objects(looked, known, reach, applied, applied)
        for each in lists[CLUSTER_ROLE_BINDING]:
            if (CLUSTER_ROLE_BINDING, name_of(each)) not in known and subjects_within(each, made):
                yield grant_of(CLUSTER_ROLE_BINDING, each)

    def _contents(self, provisioned: Iterable[Manifest], lists: Lists) -> Iterator[Discrepancy]:
        """What is missing or different of what Capsule or Kyverno puts into namespaces."""
        for intended in provisioned:
            metadata = intended["metadata"]
            place = metadata.get("namespace") or metadata["name"]
            target = f"{intended['kind']} {metadata['name']}"
            now = self._now(intended, lists)
            if now is None or "deletionTimestamp" in now["metadata"]:
                yield Discrepancy.of(ABSENT, place, target, NOTHING, "the object as in the stack")
                continue
            if intended["kind"] == "Namespace":
                differing = list(_marked(intended, now))
            elif (answer := self._as_stored(intended)).refused:
                yield Discrepancy.of(NOT_COMPARED, place, target, answer.message, "an answer to a dry run")
                continue
            else:
                changed = content_changes(dict(answer.stored), now)
                differing = [(shown(each.path), each.before, each.now) for each in changed]
            if differing:
                yield Discrepancy.of(DIFFERS, place, target, *described(differing))

    def _now(self, intended: Manifest, lists: Lists) -> Manifest | None:
        """The object as it is; that of a type of which the stack itself has none is not in the lists."""
        type_ = resource_type(intended)
        if type_ in lists:
            return next((each for each in lists[type_] if name_of(each) == name_of(intended)), None)
        return find_object(self._api, intended)

    def _as_stored(self, intended: Manifest) -> Response:
        """The object as the API server would store it."""
        path = path_of(intended)
        answer = answered(self._api, "PUT", path, intended, dryRun="All")
        if answer.refused:
            # Capsule refuses that anybody else changes what it has written, and some fields nobody can change.
            renamed = intended | {"metadata": intended["metadata"] | {"name": NAME}}
            answer = answered(self._api, "POST", path.rpartition("/")[0], renamed, dryRun="All")
        return answer

    # ---- who judges ----

    def _engines(self) -> Iterator[Discrepancy]:
        """Each engine alone: with both, one that refuses nothing would not be noticed."""
        probes = {each.type: each.inputs for each in self._recorded.objects if name_of(each.inputs) == PROBE_NAME}
        for engine, type_ in _POLICIES.items():
            if (probe := probes.get(type_)) is None:
                continue
            said = refusal(self._api, PROBE_PATH, probe_request(engine))
            if (words := probe["spec"]["validations"][0]["message"]) not in (said or ""):
                intended = f"its probe is refused: {words}"
                yield Discrepancy.of(NOT_ENFORCED, "", f"policies of {engine.value}", _said(said), intended)
        if self._config.capsule is not None:
            what, foreign = CAPSULE_DRY_RUNS.refused
            said = refusal(self._api, CAPSULE_DRY_RUNS.path, foreign)
            if said is None or not any(each in said for each in CAPSULE_DRY_RUNS.denials):
                yield Discrepancy.of(NOT_ENFORCED, "", "webhooks of Capsule", _said(said), f"{what} is refused")

    def _uncalled(self, namespaces: Collection[str], lists: Lists) -> Iterator[Discrepancy]:
        """Namespaces that Kyverno's webhooks leave out, or where they need not answer."""
        if not self._config.policies.engine.kyverno:
            return
        for namespace in lists[NAMESPACE]:
            if (name := name_of(namespace)) not in namespaces:
                continue
            called = webhooks_for(namespace["metadata"].get("labels", {}), lists[_WEBHOOKS])
            asked = [each for each in called if each["name"].startswith(_KYVERNO_WEBHOOK)]
            said = failing_open(asked)
            if said or not asked:
                found = said or "no webhook selects it"
                intended = f"{_KYVERNO_WEBHOOK} selects it and fails closed"
                yield Discrepancy.of(UNCALLED, name, f"Namespace {name}", found, intended)


_Field = tuple[str, Any, Any]
"""The path of a field, its intended value, and the value that is there; MISSING for a field that is not set."""


def described(differing: Sequence[_Field]) -> tuple[str, str]:
    """What is there, and what is intended, each on one line."""
    more = [f"{len(differing) - _MOST} more"] if len(differing) > _MOST else []
    first = differing[:_MOST]
    return (
        ", ".join([*(f"{path}: {_short(found)}" for path, _, found in first), *more]),
        ", ".join([*(f"{path}: {_short(intended)}" for path, intended, _ in first), *more]),
    )


def _short(value: Any) -> str:
    if value is MISSING:
        return NOTHING
    text = printable(value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False))
    return text if len(text) <= _LENGTH else f"{text[:_LENGTH]}…"


def _marked(intended: Manifest, found: Manifest) -> Iterator[_Field]:
    """What differs of the labels and annotations of a namespace that decide something."""
    for part in ("labels", "annotations"):
        wanted, there = intended["metadata"].get(part) or {}, found["metadata"].get(part) or {}
        for key in sorted({*wanted, *(each for each in there if each.startswith(_GRANTED))}):
            if wanted.get(key) != there.get(key):
                yield dotted(("metadata", part, key)), wanted.get(key, MISSING), there.get(key, MISSING)


def _message(each: Difference) -> Message:
    if each.what is What.FOREIGN:
        return FOREIGN.get(each.kind, DRIFTED)
    if each.what is What.LEFT:
        return DRIFTED
    if not each.urn and each.namespace == KYVERNO.namespace:
        return LEFT_OUT
    return ABSENT if each.what is What.MISSING else DIFFERS


def _place(each: Difference) -> str:
    return each.name if each.kind == "Namespace" else each.namespace


def _is(found: Manifest, each: Difference) -> bool:
    return (found["metadata"]["namespace"], found["metadata"]["name"]) == (each.namespace, each.name)


def _said(answer: str | None) -> str:
    return "it is accepted" if answer is None else f"another refusal: {answer}"
