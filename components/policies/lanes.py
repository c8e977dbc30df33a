"""The policy about lanes: each Flux object of a tenant has the label of its tenant's lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import text
from flux_tenancy.components.cluster.component import read_access
from flux_tenancy.components.cluster.subjects import Subject
from flux_tenancy.components.installs.flux.controller_rights import LANED_RESOURCES
from flux_tenancy.components.policies.policy import Resources
from flux_tenancy.components.policies.rendering import OBJECT_PREFIX, TENANT_NAMESPACES
from flux_tenancy.components.policies.request import value_of
from flux_tenancy.components.tenant.annotations import LANE
from flux_tenancy.components.vocabulary.names import DEFAULT_LANE, HELM_RELEASE, LANE_LABEL

if TYPE_CHECKING:
    from flux_tenancy.components.vocabulary.manifests import Manifest

SET_LANES = f"{OBJECT_PREFIX}set-lanes"
"""The MutatingAdmissionPolicy and its binding, and the role to read them."""
MUTATING = ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings")
"""Their resources, which only some stacks have."""

_GROUP = "admissionregistration.k8s.io"
_LABEL = f"metadata.?labels[?{text(LANE_LABEL)}].orValue('')"
# The field has another meaning in a HelmChart.
_HAS_CHART = f"{{object}}.kind == {text(HELM_RELEASE)} && {{object}}.?spec.?chart.hasValue()"


def set_lanes(readers: Sequence[Subject] = ()) -> list[Manifest]:
    """The MutatingAdmissionPolicy that sets these labels, and its binding; a role for those who preview it.

    It replaces the label of another lane, too, so that a tenant's objects follow when the tenant moves.

    Args:
        readers: who may preview and audit the stack.

    Source: https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/
    """
    chart = f"{_HAS_CHART.format(object='object')} ? {_labelled('object.spec.chart', '/spec/chart')} : []"
    rules = [Resources(group, names).rule("Namespaced") for group, names in LANED_RESOURCES.items()]
    spec: Manifest = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": rules, "namespaceSelector": TENANT_NAMESPACES},
        "variables": [{"name": "lane", "expression": value_of(LANE, text(DEFAULT_LANE))}],
        "mutations": [
            {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
            for expression in (_labelled("object", ""), chart)
        ],
    }
    specs: dict[str, Manifest] = {
        "MutatingAdmissionPolicy": spec,
        "MutatingAdmissionPolicyBinding": {"policyName": SET_LANES},
    }
    policy = [
        {"apiVersion": f"{_GROUP}/v1", "kind": kind, "metadata": {"name": SET_LANES}, "spec": each}
        for kind, each in specs.items()
    ]
    return [*policy, *read_access(SET_LANES, ((_GROUP, MUTATING),), dict.fromkeys(readers))]


def _labelled(part: str, path: str) -> str:
    """CEL for the patch that labels a part of an object, which may have no metadata or no labels."""
    label = f"{{{text(LANE_LABEL)}: variables.lane}}"
    metadata = _added(f"{path}/metadata", f"{{'labels': {label}}}")
    labels = _added(f"{path}/metadata/labels", label)
    value = _added(f"{path}/metadata/labels/{LANE_LABEL.replace('/', '~1')}", "variables.lane")
    return f"(!has({part}.metadata) ? {metadata} : !has({part}.metadata.labels) ? {labels} : {value})"


def _added(path: str, value: str) -> str:
    return f'[JSONPatch{{op: "add", path: {text(path)}, value: {value}}}]'
