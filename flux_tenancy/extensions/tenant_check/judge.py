"""What an API server would answer to each object of a tenant: the answers of `offline-admission`, as verdicts.

Admission gets an object with its owner, and what controllers make of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.policies.rendering import POLICIES
from flux_tenancy.components.tenant.role import owner_of
from flux_tenancy.components.vocabulary.manifests import Manifest, merge_patch, qualified
from flux_tenancy.extensions.tenant_check.envelope import Envelope
from flux_tenancy.extensions.tenant_check.manifests import Found
from flux_tenancy.extensions.tenant_check.openings import Opening, opening_of
from flux_tenancy.review.admission.program import (
    LIMIT_RANGER,
    NO_SCHEMA,
    POD_SECURITY,
    QUOTA,
    RBAC,
    Answer,
    Request,
    Surroundings,
    User,
    ask,
)

# Flux applies on the server; a new object needs both.
_VERBS = ("patch", "create")
_RULES = {RBAC: "role", POD_SECURITY: "Pod Security", LIMIT_RANGER: "container limits", QUOTA: "quota"}
_WITHOUT_RIGHT = "; remove it (most charts have a value for this), or ask the platform team"


class Outcome(StrEnum):
    """What becomes of an object."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    OPENING = "needs an opening"
    QUOTA = "over quota"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Verdict:
    """What becomes of an object, and why.

    Attributes:
        found: the object.
        outcome: accepted, or why not.
        rule: what refuses it, e.g. `policy allowed-sources`; empty if nothing does.
        message: in the words of the API server, which say what to write instead.
        opening: what the platform team can write to accept it; None if there is nothing, or nothing is refused.
        warnings: what policies in audit mode say.
    """

    found: Found
    outcome: Outcome
    rule: str = ""
    message: str = ""
    opening: Opening | None = None
    warnings: tuple[str, ...] = field(default=())

    @property
    def object(self) -> str:
        """Kind, namespace and name."""
        manifest = self.found.manifest
        metadata = manifest.get("metadata")
        named: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
        name = qualified(named.get("namespace"), str(named.get("name") or named.get("generateName") or ""))
        return printable(f"{manifest['kind']} {name}")

    @property
    def is_refused(self) -> bool:
        return self.outcome not in (Outcome.ACCEPTED, Outcome.UNKNOWN)


def judge(program: Path, envelope: Envelope, objects: Sequence[Found]) -> list[Verdict]:
    """The verdict on each object, in their order. Quotas count all of them, as in empty namespaces.

    Args:
        program: the program that answers (`review.admission.find_program`).
        envelope: what decides.
        objects: what the tenant's repository applies.

    Raises:
        OperationError: the program fails.
    """
    requests = [
        (index, request) for index, each in enumerate(objects) for request in _requests(each.manifest, envelope)
    ]
    surroundings = Surroundings(
        definitions=envelope.definitions,
        policies=envelope.policies,
        namespaces=envelope.namespaces,
        access=envelope.access,
        quotas=envelope.quotas,
        limits=envelope.limits,
    )
    answers: dict[int, list[tuple[Request, Answer]]] = {index: [] for index in range(len(objects))}
    for (index, request), answer in zip(
        requests, ask(program, surroundings, (each for _, each in requests)), strict=True
    ):
        answers[index].append((request, answer))
    return [_verdict(each, answers[index], envelope) for index, each in enumerate(objects)]


def _requests(manifest: Manifest, envelope: Envelope) -> Iterator[Request]:
    """The tenant's request, and those of controllers for what they make of it."""
    if not isinstance(manifest.get("metadata"), dict):
        return
    user = User(envelope.account)
    yield Request("CREATE", as_applied(manifest), user=user, verbs=_VERBS, namespace=envelope.home)
    for each, count in _made(manifest):
        each["metadata"].setdefault("namespace", envelope.home)
        yield Request("CREATE", each, count=count)


def _made(manifest: Manifest) -> Iterable[tuple[Manifest, int]]:
    try:
        return list(made_by_controllers(manifest))
    except (AttributeError, KeyError, TypeError):
        return ()  # Not of the schema, as the answer to the object itself says.


def _verdict(found: Found, answers: Iterable[tuple[Request, Answer]], envelope: Envelope) -> Verdict:
    verdict = Verdict(found, Outcome.REFUSED, "schema", "metadata is missing; set metadata.name")
    for number, (request, answer) in enumerate(answers):
        made = request.object or {}
        prefix = f"its {made['kind']}: " if number else ""
        for error in answer.errors:
            if error.message.startswith(NO_SCHEMA):
                return _of_no_kind(found, envelope, error.message.partition("; served: ")[2])
            message = printable(": ".join(part for part in (error.path, error.message) if part))
            return Verdict(found, Outcome.REFUSED, "schema", prefix + message)
        for each in (objection for objection in answer.objections if objection.denied):
            rule = _RULES.get(each.policy) or f"policy {POLICIES.get(each.policy, each.policy)}"
            message = printable(each.message)
            opening = opening_of(rule, message, made, envelope)
            outcome = Outcome.QUOTA if each.policy == QUOTA else Outcome.OPENING if opening else Outcome.REFUSED
            if each.policy == RBAC:
                message += _WITHOUT_RIGHT
                if not _is_defined(found.manifest, envelope):
                    message += f"; in a cluster without this kind: {_no_matches(found.manifest)}"
            return Verdict(found, outcome, rule, prefix + message, opening)
        verdict = Verdict(found, Outcome.ACCEPTED, warnings=(*verdict.warnings, *_warnings(answer)))
    return verdict


def _of_no_kind(found: Found, envelope: Envelope, served: str) -> Verdict:
    """The verdict on an object of a kind that the envelope does not define; `served` are its other versions."""
    if served:
        message = f"{_no_matches(found.manifest)}; use {served}"
        return Verdict(found, Outcome.REFUSED, "schema", message)
    if owner_of(_group(found.manifest)) == "Kubernetes":
        message = f"{_no_matches(found.manifest)}: Kubernetes {envelope.versions['kubernetes']} has no such kind"
        return Verdict(found, Outcome.REFUSED, "schema", f"{message}; correct `kind` or `apiVersion`")
    message = (
        f"your role allows it, but the envelope has no definition of {_kind(found.manifest)}: its fields were not "
        "checked; ask the platform team for an envelope with `--definitions`"
    )
    return Verdict(found, Outcome.UNKNOWN, "schema", message)


def _group(manifest: Manifest) -> str:
    return str(manifest["apiVersion"]).rpartition("/")[0]


def _kind(manifest: Manifest) -> str:
    return printable(f'kind "{manifest["kind"]}" in version "{manifest["apiVersion"]}"')


def _no_matches(manifest: Manifest) -> str:
    """What Flux says of a kind that the cluster does not serve."""
    return f"no matches for {_kind(manifest)}"


def _is_defined(manifest: Manifest, envelope: Envelope) -> bool:
    """Whether the kind is known to be in the cluster."""
    group = _group(manifest)
    kinds = {(each["spec"]["group"], each["spec"]["names"]["kind"]) for each in envelope.definitions}
    return owner_of(group) == "Kubernetes" or (group, manifest["kind"]) in kinds


def _warnings(answer: Answer) -> tuple[str, ...]:
    return tuple(printable(each.message) for each in answer.objections if not each.denied)


# What the admission plugins ServiceAccount and DefaultStorageClass set.
_SET = {"Pod": {"serviceAccountName": "default"}, "PersistentVolumeClaim": {"storageClassName": "default"}}


def owner(applied: Manifest) -> Manifest:
    """The entry of a manager in `metadata.managedFields` after it has applied this."""
    # What identifies the object has no owner.
    metadata = {key: value for key, value in applied["metadata"].items() if key not in ("name", "namespace")}
    owned = {key: value for key, value in applied.items() if key not in ("apiVersion", "kind")} | {"metadata": metadata}
    return {
        "manager": "tenant",
        "operation": "Apply",
        "apiVersion": applied["apiVersion"],
        "fieldsType": "FieldsV1",
        "fieldsV1": _fields(owned),
    }


def as_applied(manifest: Manifest) -> Manifest:
    """The object as admission sees it. What SOPS has encrypted stays sealed, so its entries are left out."""
    applied = merge_patch({"metadata": {"name": "made"}}, manifest)
    if applied.pop("sops", None) is not None:
        applied = {key: value for key, value in applied.items() if key not in ("data", "stringData")}
    specs = {"spec": _SET[manifest["kind"]]} if manifest["kind"] in _SET else {}
    complete: Manifest = merge_patch(specs, merge_patch(applied, {"metadata": {"managedFields": [owner(applied)]}}))
    return complete


def made_by_controllers(manifest: Manifest) -> Iterator[tuple[Manifest, int]]:
    """The Pods of a workload and the claims of a StatefulSet, each with how many there are."""
    kind, spec = manifest["kind"], manifest.get("spec") or {}
    if kind == "CronJob":
        spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    if kind not in ("CronJob", "DaemonSet", "Deployment", "Job", "StatefulSet") or "template" not in spec:
        return
    # On how many nodes a DaemonSet runs is not known.
    count = spec.get("parallelism" if kind in ("CronJob", "Job") else "replicas", 1)
    if not isinstance(count, int) or count < 1:
        return
    namespace = manifest["metadata"].get("namespace")
    at = {"namespace": namespace} if namespace else {}
    pod = merge_patch(deepcopy(spec["template"]), {"apiVersion": "v1", "kind": "Pod", "metadata": at})
    volumes = []
    for each in spec.get("volumeClaimTemplates") or ():
        name = f"{each['metadata']['name']}-made-0"
        volumes.append({"name": each["metadata"]["name"], "persistentVolumeClaim": {"claimName": name}})
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": at | {"name": name}}
        yield as_applied(merge_patch(each, claim)), count
    if volumes:
        pod["spec"]["volumes"] = [*pod["spec"].get("volumes", []), *volumes]
    yield as_applied(pod), count


def _fields(value: object) -> Manifest:
    return {f"f:{key}": _fields(child) for key, child in value.items()} if isinstance(value, dict) else {}
