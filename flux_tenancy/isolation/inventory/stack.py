"""The inventory of a cluster that a stack of this project describes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from kubernetes import client

from flux_tenancy.components.cluster.client import refusal
from flux_tenancy.components.config.errors import dotted
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.installs.capsule import DRY_RUNS as CAPSULE_DRY_RUNS
from flux_tenancy.components.policies.component import PROBE_NAME, PROBE_PATH, probe_request
from flux_tenancy.components.policies.config import PolicyEngine
from flux_tenancy.components.rbac.rights import AGGREGATE_LABEL, aggregates_to, is_of_kubernetes
from flux_tenancy.components.rbac.subjects import SubjectKind, in_words, subject_of, subjects_of, subjects_within
from flux_tenancy.components.tenant.annotations import EXCEPTIONS, PREFIX, SERVICE_TYPES
from flux_tenancy.components.tenant.capsule.config import BOUND_BY, BOUND_BY_LABEL, CAPSULE_TENANT_LABEL
from flux_tenancy.components.tenant.role import Role
from flux_tenancy.components.vocabulary.manifests import Manifest, name_of, resource_type, selects
from flux_tenancy.components.vocabulary.names import (
    FLUX_NAMESPACE,
    MANAGED_BY_LABEL,
    PLATFORM_META,
    POD_SECURITY_LABEL,
    TENANT_LABEL,
)
from flux_tenancy.isolation.asking import Asker
from flux_tenancy.isolation.inventory.intent import Intent, Key, is_filled_in, key_of
from flux_tenancy.isolation.inventory.stored import (
    KYVERNO_POLICY,
    NOTHING,
    READ,
    WEBHOOKS,
    NotComparable,
    Stored,
    described,
    differences,
    namespaces_of,
    within,
)
from flux_tenancy.isolation.model import NAME, Discrepancy, Request
from flux_tenancy.isolation.reading import served
from flux_tenancy.isolation.scene import Tenancy
from flux_tenancy.operations.drift.differences import Difference
from flux_tenancy.operations.drift.foreign_grants import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    EXCEPTION_TYPES,
    ROLE_BINDING,
    SYNC,
    applied_by_stack,
    entry_of,
)
from flux_tenancy.operations.drift.kyverno_settings import RESTORE_KYVERNO, left_out
from flux_tenancy.operations.drift.lists import NAMESPACE, NATIVE_POLICY, NETWORK_POLICY, Lists, read_lists
from flux_tenancy.operations.drift.managed_fields import MISSING

DIFFERS = Message(
    "FT-ISO-100",
    "an object of the stack differs from the stack",
    "restore it with `flux-tenancy drift repair` and `pulumi up`, or declare the change in the stack",
)
NOT_ENFORCED = Message(
    "FT-ISO-106",
    "an engine does not enforce the policies",
    "find out why, then run `flux-tenancy drift repair` and `pulumi up`",
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

# How the keys of a namespace begin that decide something, wherever they come from, such as `…/enforce-version`.
_DECISIVE = (POD_SECURITY_LABEL, PREFIX, TENANT_LABEL, MANAGED_BY_LABEL, CAPSULE_TENANT_LABEL)
# What a namespace gets by grants, which only files of the stack have.
_GRANTED = (EXCEPTIONS, SERVICE_TYPES)
_POLICIES = {PolicyEngine.NATIVE: NATIVE_POLICY, PolicyEngine.KYVERNO: KYVERNO_POLICY}
_KYVERNO_WEBHOOK = "vpol.validate.kyverno.svc-fail"
_NO_BINDING = "no such binding"


class StackInventory:
    """Holds a cluster against a stack.

    Args:
        api: a client for the cluster, whose user may impersonate tenants and do dry runs of updates.
        intent: what the stack intends.
    """

    def __init__(self, api: client.ApiClient, intent: Intent) -> None:
        self._api, self._intent = api, intent
        self._stored = Stored(api)
        self._asker = Asker(api, served(api))

    def read(self) -> Lists:
        """The cluster as it is now.

        Raises:
            ApiException: the API server does not let the user see it.
        """
        return read_lists(self._api, READ | {type_ for type_, _ in self._intent.objects})

    def of(self, tenant: Tenancy, lists: Lists, drift: Iterable[Difference] = ()) -> tuple[Discrepancy, ...]:
        """What is not as intended for a tenant: in its namespaces, of its accounts elsewhere, and for all tenants.

        Args:
            lists: the cluster (`read`).
            drift: what differs from the last update, which also looks at everything that runs for the platform.

        Raises:
            ClusterUnavailable: the cluster does not answer.
        """
        labelled = namespaces_of(lists, tenant.name)
        unlisted = {name: each for name, each in labelled.items() if self._intent.tenant_of.get(name) != tenant.name}
        intended = self._intent.of_tenant(tenant.name, unlisted)
        places = {*labelled, *(name for name, owner in self._intent.tenant_of.items() if owner == tenant.name)}
        found = [
            *self._compared(intended.values(), lists),
            *self._unlisted(tenant, lists),
            *self._bindings(tenant, places, intended, lists),
            *self._openings(tenant, places, intended, lists),
            *self._aggregated(tenant, lists),
            *self._uncalled(labelled, lists),
            *self._left_out(places),
            *self._compared(self._intent.of_platform, lists),
            *self._exemptions(lists),
            *self._engines(),
        ]
        reported = {(each.namespace, each.target) for each in found}
        found += [each for each in self._drifted(tenant, drift, lists) if (each.namespace, each.target) not in reported]
        return tuple(sorted(dict.fromkeys(found), key=lambda each: (each.namespace, each.target, each.code)))

    # ---- what the stack has ----

    def _compared(self, intended: Iterable[Manifest], lists: Lists) -> Iterator[Discrepancy]:
        there = {(type_, name_of(each)): each for type_, listed in lists.items() for each in listed}
        for each in intended:
            now = there.get(key_of(each))
            if now is None or "deletionTimestamp" in now["metadata"]:
                yield _about(
                    Message(
                        "FT-ISO-101",
                        "an object of the stack is missing",
                        "create it again with `flux-tenancy drift repair` and `pulumi up`",
                    ),
                    each,
                    NOTHING,
                    "the object as in the stack",
                )
            elif each["kind"] == "Namespace":
                yield from _of_namespace(each, now, is_listed=name_of(each) in self._intent.tenant_of)
            elif is_filled_in(each):
                if differing := differences(each, now, exact=False):
                    yield _about(DIFFERS, each, *described(differing))
            else:
                try:
                    stored = self._stored.form(each, now)
                except NotComparable as error:
                    yield _about(
                        Message(
                            "FT-ISO-108",
                            "the API server does not answer the dry run of an object of the stack",
                            "use credentials with cluster-admin rights, and check that the cluster's webhooks answer",
                        ),
                        each,
                        str(error),
                        "an answer to a dry run",
                    )
                    continue
                if differing := differences(stored or each, now, exact=stored is not None):
                    yield _about(DIFFERS, each, *described(differing))

    def _unlisted(self, tenant: Tenancy, lists: Lists) -> Iterator[Discrepancy]:
        """Namespaces with the label of this tenant, or of one that the stack does not know."""
        tenants = self._intent.config.tenants
        for each in lists[NAMESPACE]:
            label = each["metadata"].get("labels", {}).get(TENANT_LABEL)
            owner = self._intent.tenant_of.get(each["metadata"]["name"])
            if label in (None, owner) or self._intent.allows(each):
                continue
            if label == tenant.name or label not in tenants:
                found = f"{TENANT_LABEL}: {label}"
                yield _about(
                    Message(
                        "FT-ISO-104",
                        "a namespace has the label of a tenant that does not list it in the stack",
                        f"list it in the tenant's namespaces, or remove the label {TENANT_LABEL}",
                    ),
                    each,
                    found,
                    owner or "of no tenant",
                )

    def _drifted(self, tenant: Tenancy, drift: Iterable[Difference], lists: Lists) -> Iterator[Discrepancy]:
        """What differs from the last update, unless it is in a namespace of another tenant."""
        labelled = {name_of(each): each["metadata"].get("labels", {}).get(TENANT_LABEL) for each in lists[NAMESPACE]}
        for each in drift:
            namespace = each.name if each.kind == "Namespace" else each.namespace
            if self._intent.tenant_of.get(namespace, labelled.get(namespace)) in (None, tenant.name):
                yield Discrepancy.of(DRIFTED, namespace, f"{each.kind} {each.name}", *_described(each))

    # ---- what is there beside it ----

    def _bindings(
        self, tenant: Tenancy, places: set[str], intended: Mapping[Key, Manifest], lists: Lists
    ) -> Iterator[Discrepancy]:
        """Role bindings in the tenant's namespaces, and those of its accounts anywhere else."""
        known = {*intended, *self._intent.objects}
        of_platform = self._applied_by_platform(lists)
        for type_ in (ROLE_BINDING, CLUSTER_ROLE_BINDING):
            for each in lists[type_]:
                namespace = each["metadata"].get("namespace", "")
                if (type_, name_of(each)) in known or not (namespace in places or subjects_within(each, places)):
                    continue
                if namespace in places and self._is_expected(tenant, each, of_platform):
                    continue
                yield _about(
                    Message(
                        "FT-ISO-102",
                        "a binding gives rights that the stack does not give",
                        "delete the binding, or declare the rights in the stack: as a grant, or under people",
                    ),
                    each,
                    in_words(each),
                    _NO_BINDING,
                )

    def _aggregated(self, tenant: Tenancy, lists: Lists) -> Iterator[Discrepancy]:
        """ClusterRoles whose rules are added to `admin`, which has those of `edit` and `view`, if the tenant has it."""
        config = self._intent.config.tenants.get(tenant.name)
        if config is None or config.role is not Role.ADMIN:
            return
        of_platform = self._applied_by_platform(lists)
        for each in lists[CLUSTER_ROLE]:
            if not aggregates_to(each) or key_of(each) in self._intent.objects or is_of_kubernetes(each):
                continue
            if entry_of(CLUSTER_ROLE, each) not in of_platform:
                found, _ = described([("rules", None, each.get("rules"))])
                yield _about(
                    Message(
                        "FT-ISO-110",
                        "a ClusterRole adds rights to Kubernetes' role `admin`, which the tenant has",
                        f"remove its labels {AGGREGATE_LABEL}…, or give the tenant its rights as a grant",
                    ),
                    each,
                    found,
                    "no such role",
                )

    def _openings(
        self, tenant: Tenancy, places: set[str], intended: Mapping[Key, Manifest], lists: Lists
    ) -> Iterator[Discrepancy]:
        """Network policies that open what another one closes: policies add up."""
        closed = {each["metadata"]["namespace"] for key, each in intended.items() if key[0] == NETWORK_POLICY}
        of_platform = self._applied_by_platform(lists)
        for namespace in sorted(places & closed):
            for each in within(lists, NETWORK_POLICY, namespace):
                opened = {key: each["spec"][key] for key in ("ingress", "egress") if each["spec"].get(key)}
                if key_of(each) in intended or not opened or self._is_expected(tenant, each, of_platform):
                    continue
                found, _ = described([(key, None, value) for key, value in opened.items()])
                yield _about(
                    Message(
                        "FT-ISO-103",
                        "a network policy opens connections that the stack closes",
                        "delete it, or declare the opening under network of the tenant",
                    ),
                    each,
                    found,
                    "no such network policy",
                )

    def _is_expected(self, tenant: Tenancy, found: Manifest, of_platform: frozenset[str]) -> bool:
        """Whether the platform's Git, Capsule or the tenant itself writes such objects as this one."""
        if entry_of(resource_type(found), found) in of_platform:
            return True
        if found["kind"] == "RoleBinding" and self._is_of_capsule(tenant, found):
            return True
        return self._may_write_itself(tenant, found)

    def _applied_by_platform(self, lists: Lists) -> frozenset[str]:
        """What the Kustomization of the platform has applied, and those in its namespace that it has applied."""
        own = {(SYNC, f"{FLUX_NAMESPACE}/{PLATFORM_META.name}")} if self._intent.config.flux.sync is not None else ()
        return applied_by_stack({SYNC: within(lists, SYNC, FLUX_NAMESPACE)}, own)

    def _is_of_capsule(self, tenant: Tenancy, binding: Manifest) -> bool:
        """Whether Capsule has made a binding of what the tenant's Tenant says."""
        role = binding["roleRef"]
        if binding["metadata"].get("labels", {}).get(BOUND_BY_LABEL) != BOUND_BY or role["kind"] != "ClusterRole":
            return False
        account = {"kind": "ServiceAccount", "name": tenant.account, "namespace": tenant.home}
        allowed = self._intent.made_bindings(tenant.name, account)
        subjects = {subject for subject, _ in subjects_of(binding)}
        return any(role["name"] == name and subjects <= set(map(subject_of, whom)) for name, whom in allowed)

    def _may_write_itself(self, tenant: Tenancy, found: Manifest) -> bool:
        """Whether a tenant that is meant to write bindings could have written this one, for others than itself."""
        namespace = found["metadata"]["namespace"]
        if not (tenant.account and self._intent.may_bind(tenant.name, namespace)):
            return False
        others = all(
            each.kind is SubjectKind.ACCOUNT
            and each.namespace == namespace
            and each.name not in (tenant.account, "default")
            for each, _ in subjects_of(found)
        )
        copy = {key: value for key, value in found.items() if key not in ("metadata", "status")}
        request = Request(copy | {"metadata": {"name": NAME, "namespace": namespace}}, ())
        return others and not self._asker.dry_run(request, tenant.user).refused

    def _exemptions(self, lists: Lists) -> Iterator[Discrepancy]:
        for type_ in EXCEPTION_TYPES:
            for each in lists[type_]:
                if (type_, name_of(each)) not in self._intent.objects:
                    found, _ = described([("spec", None, each.get("spec"))])
                    yield _about(
                        Message(
                            "FT-ISO-105",
                            "an exemption from Kyverno's policies",
                            "delete it, or declare a grant of the tenant",
                        ),
                        each,
                        found,
                        "no such exemption",
                    )

    # ---- who judges ----

    def _engines(self) -> Iterator[Discrepancy]:
        """Each engine alone: with both, one that refuses nothing would not be noticed."""
        for engine, type_ in _POLICIES.items():
            probe = self._intent.objects.get((type_, PROBE_NAME))
            if probe is None:
                continue
            said = refusal(self._api, PROBE_PATH, probe_request(engine))
            if (words := probe["spec"]["validations"][0]["message"]) not in (said or ""):
                yield Discrepancy.of(
                    NOT_ENFORCED, "", f"policies of {engine.value}", _said(said), f"its probe is refused: {words}"
                )
        if self._intent.config.capsule is not None:
            what, foreign = CAPSULE_DRY_RUNS.refused
            said = refusal(self._api, CAPSULE_DRY_RUNS.path, foreign)
            if said is None or not any(each in said for each in CAPSULE_DRY_RUNS.denials):
                yield Discrepancy.of(NOT_ENFORCED, "", "webhooks of Capsule", _said(said), f"{what} is refused")

    def _left_out(self, namespaces: Collection[str]) -> Iterator[Discrepancy]:
        if self._intent.config.policies.engine.kyverno:
            for each in left_out(self._api, namespaces):
                yield Discrepancy.of(LEFT_OUT, each.namespace, f"{each.kind} {each.name}", *_described(each))

    def _uncalled(self, namespaces: Mapping[str, Manifest], lists: Lists) -> Iterator[Discrepancy]:
        """Namespaces that Kyverno's webhooks leave out, or where they need not answer."""
        if not self._intent.config.policies.engine.kyverno:
            return
        webhooks = [
            each
            for configuration in lists[WEBHOOKS]
            for each in configuration.get("webhooks") or ()
            if each["name"].startswith(_KYVERNO_WEBHOOK)
        ]
        for name, namespace in namespaces.items():
            labels = namespace["metadata"].get("labels", {})
            asked = [each for each in webhooks if selects(each.get("namespaceSelector", {}), labels)]
            open_ones = [each["name"] for each in asked if each.get("failurePolicy") == "Ignore"]
            if not asked or open_ones:
                found = f"{', '.join(sorted(open_ones))} fails open" if open_ones else "no webhook selects it"
                yield Discrepancy.of(
                    Message(
                        "FT-ISO-107",
                        "Kyverno's webhooks leave out a tenant's namespace, or fail open",
                        "compare the webhooks with Kyverno's settings, and restart Kyverno's admission controller",
                    ),
                    name,
                    f"Namespace {name}",
                    found,
                    f"{_KYVERNO_WEBHOOK} selects it and fails closed",
                )


def _of_namespace(intended: Manifest, found: Manifest, *, is_listed: bool) -> Iterator[Discrepancy]:
    """What differs of the labels and annotations that decide something.

    In a namespace that the stack does not list, the platform sets annotations itself, except what grants give.
    """
    differing = []
    for part in ("labels", "annotations"):
        wanted, there = intended["metadata"].get(part) or {}, found["metadata"].get(part) or {}
        decisive = _DECISIVE if is_listed else (*_GRANTED, POD_SECURITY_LABEL)
        further = {key for key in there if key.startswith(decisive)}
        differing += [
            (dotted(("metadata", part, key)), wanted.get(key), there.get(key))
            for key in sorted({*wanted, *further})
            if wanted.get(key) != there.get(key)
        ]
    if differing:
        yield _about(DIFFERS, intended, *described(differing))


def _said(answer: str | None) -> str:
    return "it is accepted" if answer is None else f"another refusal: {answer}"


def _described(each: Difference) -> tuple[str, str]:
    intended, there = (None if one is MISSING else one for one in (each.stack, each.cluster))
    return described([(each.field or each.what.value, intended, there)])


def _about(message: Message, manifest: Manifest, found: str, intended: str) -> Discrepancy:
    metadata = manifest["metadata"]
    namespace = metadata["name"] if manifest["kind"] == "Namespace" else metadata.get("namespace", "")
    return Discrepancy.of(message, namespace, f"{manifest['kind']} {metadata['name']}", found, intended)
