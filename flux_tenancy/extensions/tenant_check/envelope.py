"""The envelope of a tenant: all that decides about its objects in one stack, as one file for the tenant's repository.

It is made from a render of the stack with this tenant alone, so it has nothing of another tenant. It takes only kinds
that decide, and none of them contains a secret.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from flux_tenancy.components.cluster.client import explaining, items
from flux_tenancy.components.config.errors import reason_of
from flux_tenancy.components.config.messages import Wording
from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.rbac.rights import AGGREGATE_LABEL, BINDINGS, ROLES
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.plan import stack_plan
from flux_tenancy.components.tenant.limits import room_of
from flux_tenancy.components.vocabulary.manifests import RBAC, Manifest, name_of
from flux_tenancy.components.vocabulary.names import KUSTOMIZATION, TENANT_LABEL
from flux_tenancy.operations.stack.connected import connect_to_read, reaching
from flux_tenancy.project.described_stack import check_listed, described_file, listed_tenants
from flux_tenancy.project.errors import OperationError, reading_files
from flux_tenancy.review.admission.check import policies_of
from flux_tenancy.review.admission.program import kubernetes_version
from flux_tenancy.review.render.facts import digest_of
from flux_tenancy.review.render.rendered import Render
from flux_tenancy.review.render.stack import load_and_render
from flux_tenancy.version import VERSION

FORMAT = 1
"""The version of the file's structure."""
_DEFINITION = "CustomResourceDefinition"

_UNREADABLE = Wording(
    "FT-REV-320", "{file} is not an envelope of a tenant: {reason}", "ask the platform team for a new one"
)
_OTHER_FORMAT = Wording(
    "FT-REV-321",
    "{file} was made by flux-tenancy {program} in format {found}, and this is flux-tenancy {own} with format {format}",
    "install flux-tenancy {program}, or ask the platform team for a new envelope",
)


class Envelope(BaseModel):
    """What decides about the objects of a tenant.

    Attributes:
        format: the version of this structure.
        program: the version of flux-tenancy that made it.
        digest: of everything but `made` and itself.
        made: when it was made, in the words of who made it; empty if nobody said so.
        stack: name of the stack.
        tenant: name of the tenant.
        home: its first namespace, in which objects without a namespace are applied.
        account: the user as whom Flux applies them.
        versions: of Flux and Kubernetes.
        namespaces: its namespaces, with Pod Security and the tenant's lists as labels and annotations.
        access: the account's roles and bindings.
        policies: the admission policies, as Kubernetes evaluates them.
        quotas: its ResourceQuotas; `status.used` is what the platform's own objects take.
        limits: its LimitRanges.
        syncs: its Kustomizations in the stack, which say what of its repositories is applied, and how.
        definitions: the kinds of Flux, and those that were given, without descriptions.
        used: what was used of each quota in the cluster, if the cluster was asked.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int
    program: str
    digest: str = ""
    made: str = ""
    stack: str
    tenant: str
    home: str
    account: str
    versions: Mapping[str, str]
    namespaces: list[Manifest]
    access: list[Manifest]
    policies: list[Manifest]
    quotas: list[Manifest]
    limits: list[Manifest]
    syncs: list[Manifest]
    definitions: list[Manifest]
    used: Mapping[str, Mapping[str, str]] = {}

    @property
    def own_digest(self) -> str:
        """The digest that the content has."""
        return digest_of([self.model_dump(mode="json", exclude={"digest", "made"})])

    def as_json(self) -> str:
        """The file's content: a line for each part, so that a change of it can be read."""
        parts = self.model_dump(mode="json", exclude_defaults=True)
        compact = {"separators": (",", ":"), "sort_keys": True}
        lines = []
        for key, value in parts.items():
            if isinstance(value, list):
                value = ",\n".join(f"  {json.dumps(each, **compact)}" for each in value)  # type: ignore[arg-type]
                lines.append(f' "{key}": [\n{value}\n ]' if value else f' "{key}": []')
            else:
                lines.append(f' "{key}": {json.dumps(value, **compact)}')  # type: ignore[arg-type]
        return "{\n" + ",\n".join(lines) + "\n}\n"


def read_envelope(file: Path) -> Envelope:
    """An envelope from its file, JSON or YAML.

    Raises:
        OperationError: it cannot be read, has another format, or was changed.
    """
    try:
        text = file.read_text(encoding="utf-8")
        found = json.loads(text) if text.startswith("{\n ") else yaml.load(text, FastLoader)
    except (OSError, UnicodeDecodeError, ValueError, yaml.YAMLError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else "neither JSON nor YAML"
        raise OperationError(_UNREADABLE(file=file, reason=reason)) from None
    if not isinstance(found, Mapping) or "format" not in found:
        raise OperationError(_UNREADABLE(file=file, reason="it has no key `format`"))
    if found["format"] != FORMAT:
        named = {"program": found.get("program"), "found": found["format"]}
        raise OperationError(_OTHER_FORMAT(file=file, own=VERSION, format=FORMAT, **named))
    try:
        envelope = Envelope.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise OperationError(_UNREADABLE(file=file, reason=reason)) from None
    if envelope.own_digest != envelope.digest:
        raise OperationError(
            _UNREADABLE(file=file, reason="it was changed after it was made, so its digest does not match")
        )
    return envelope


def make_envelope(
    project: Path,
    stack: str,
    tenant: str,
    made: str = "",
    definitions: Iterable[Manifest] = (),
    used: Mapping[str, Mapping[str, str]] | None = None,
) -> Envelope:
    """The envelope of a tenant of a stack.

    Args:
        project: folder of the Pulumi project.
        stack: name of the stack.
        tenant: name of the tenant.
        made: when it is made; the same stack gives the same envelope without.
        definitions: further CustomResourceDefinitions of the cluster.
        used: what is used of each quota, by `namespace/name`.

    Raises:
        OperationError: the stack does not list the tenant, or is not valid.
    """
    check_listed(tenant, listed_tenants(stack, project), described_file(stack, project).name)
    with reading_files():
        render, config = load_and_render(project, stack, tenant)
    return envelope_of(render, config, tenant, made, definitions, used)


def envelope_of(
    render: Render,
    config: StackConfig,
    tenant: str,
    made: str = "",
    definitions: Iterable[Manifest] = (),
    used: Mapping[str, Mapping[str, str]] | None = None,
) -> Envelope:
    """The envelope of the only tenant of a render; arguments as of `make_envelope`."""
    plan = stack_plan(config, render.stack)
    scope = plan.scopes[tenant]
    rooms = room_of(plan.tenants[tenant])
    own = [each for each in render.objects if each.is_kubernetes and each.owner == tenant]

    def of_kind(kind: str) -> list[Manifest]:
        return [dict(each.manifest) for each in own if each.kind == kind]

    quotas = [
        each
        | {"status": {"used": {key: str(rooms[each["metadata"]["namespace"]][key]) for key in each["spec"]["hard"]}}}
        for each in of_kind("ResourceQuota")
    ]
    everything = [dict(each.manifest) for each in render.objects if each.is_kubernetes]
    kinds = [*(each for each in everything if each["kind"] == _DEFINITION), *definitions]
    served = {each["metadata"]["name"]: _definition(each) for each in kinds if "versions" in each["spec"]}
    envelope = Envelope(
        format=FORMAT,
        program=VERSION,
        made=made,
        stack=render.stack,
        tenant=tenant,
        home=scope.config.home,
        account=f"system:serviceaccount:{scope.config.home}:{scope.account}",
        versions={"flux": config.flux.version, "kubernetes": kubernetes_version()},
        namespaces=of_kind("Namespace"),
        access=list(_access(everything, scope.config.home, scope.account)),
        policies=policies_of(everything),
        quotas=quotas,
        limits=of_kind("LimitRange"),
        syncs=of_kind(KUSTOMIZATION),
        definitions=[*served.values()],
        used=used or {},
    )
    return envelope.model_copy(update={"digest": envelope.own_digest})


def _access(everything: Iterable[Manifest], home: str, account: str) -> Iterator[Manifest]:
    """The bindings of the account, without other subjects, and their roles."""
    objects = [each for each in everything if each["apiVersion"].startswith(RBAC)]
    subject = {"kind": "ServiceAccount", "name": account, "namespace": home}
    bindings = [each for each in objects if each["kind"] in BINDINGS and subject in each.get("subjects", ())]
    bound = {
        (each["roleRef"]["kind"], _place(each, each["roleRef"]["kind"]), each["roleRef"]["name"]) for each in bindings
    }
    for each in objects:
        is_bound = (each["kind"], _place(each, each["kind"]), each["metadata"]["name"]) in bound
        labels = each["metadata"].get("labels") or {}
        if each["kind"] in ROLES and (is_bound or any(key.startswith(AGGREGATE_LABEL) for key in labels)):
            yield each
    yield from (each | {"subjects": [subject]} for each in bindings)


def _place(manifest: Manifest, role: str) -> str:
    return str(manifest["metadata"]["namespace"]) if role == "Role" else ""


def _definition(manifest: Manifest) -> Manifest:
    """A definition without what only readers and the cluster need, which is most of it."""
    spec = {key: _without_descriptions(value) for key, value in manifest["spec"].items() if key != "conversion"}
    annotations = {
        key: value
        for key, value in (manifest["metadata"].get("annotations") or {}).items()
        if key == "api-approved.kubernetes.io"
    }
    metadata = {"name": manifest["metadata"]["name"]} | ({"annotations": annotations} if annotations else {})
    return {"apiVersion": manifest["apiVersion"], "kind": _DEFINITION, "metadata": metadata, "spec": spec}


def _without_descriptions(value: Any) -> Any:
    """A schema without descriptions; a property can have that name, too, and is a mapping."""
    if isinstance(value, Mapping):
        return {
            key: _without_descriptions(child)
            for key, child in value.items()
            if key != "description" or not isinstance(child, str)
        }
    return [_without_descriptions(child) for child in value] if isinstance(value, list) else value


def read_used(project: Path, stack: str, tenant: str) -> dict[str, dict[str, str]]:
    """What is used of each quota, by `namespace/name`.

    Raises:
        OperationError: the cluster cannot be read.
    """
    with reaching(stack):
        api = connect_to_read(stack, project)
        with explaining(api):
            quotas = list(items(api, "/api/v1/resourcequotas", labelSelector=f"{TENANT_LABEL}={tenant}"))
    return {name_of(each): (each.get("status") or {}).get("used") or {} for each in quotas}
