"""The policy about the kinds of objects that tenants may write: those that are listed, and no others."""

from __future__ import annotations

from collections.abc import Mapping

from flux_tenancy.components.allowlists.cel import concatenated, mapping, text, texts
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.policy import CREATE_UPDATE, Policy, Resources, Subject, Validation
from flux_tenancy.components.policies.request import TENANT, listed
from flux_tenancy.components.tenant.annotations import KINDS
from flux_tenancy.components.tenant.kinds import FLUX_KINDS, resources_of
from flux_tenancy.components.tenant.role import open_resources, resources_of_rules
from flux_tenancy.components.tenant.tenancy_config import TenancyConfig, TenancyMode

# The policy `policy-objects` refuses them with a reason, Capsule's only where it is.
_KYVERNO, _CAPSULE = ("kyverno.io", "policies.kyverno.io"), ("capsule.clastix.io",)

# How a tenant gets the same without writing such objects.
_INSTEAD: Mapping[str, str] = {
    "Alert": "; the platform team can declare notifications for it",
    "Provider": "; the platform team can declare notifications for it",
    "Receiver": "; the platform team can declare a webhook for its sources",
    "Bucket": "; the platform team can declare sources for it",
}

RESOURCE = (
    "(request.resource.group == '' ? request.resource.resource : "
    "request.resource.resource + '.' + request.resource.group)"
)
"""The resource of a request, as `components.tenant.kinds.group_resource` writes it."""

_NAMES = {resource: kind for kind in FLUX_KINDS for resource in resources_of([kind])}
_IN_KINDS = text(" in the tenant's policies.kinds")
_CHARTS, _RELEASES = resources_of(("HelmChart", "HelmRelease"))
_CHART = f"({RESOURCE} == {text(_CHARTS)} ? object.?spec : object.?spec.?chart.?spec)"
_CHART_SOURCE = f"{_CHART}.?sourceRef.?kind.orValue('')"
# helm-controller makes the HelmChart of a HelmRelease as itself, so the HelmRelease is checked as well.
_IS_FOREIGN_CHART = f"({RESOURCE} in {texts((_CHARTS, _RELEASES))} && !({_CHART_SOURCE} in ['', 'HelmRepository']))"


def allowed_kinds(tenancy: TenancyConfig) -> Policy:
    """Tenants write objects of open kinds only; whatever is not listed is closed.

    An object that is older may keep its content, so that closing a kind does not stop the sync that applies it, and it
    may be deleted.

    Args:
        tenancy: the settings of all tenants, with the kinds that the stack opens.
    """
    opened = (*resources_of(tenancy.kinds), *resources_of_rules(tenancy.extra_rules))
    elsewhere = (*_KYVERNO, *(_CAPSULE if tenancy.mode is TenancyMode.CAPSULE else ()))
    closed = (
        f"!({RESOURCE} in {texts(open_resources())} || {RESOURCE} in {texts(opened)} || "
        f"request.resource.group in {texts(elsewhere)})"
    )
    return Policy(
        name=PolicyName.ALLOWED_KINDS,
        refuses="objects of kinds that are not open to tenants, including unknown kinds, and charts from Git and "
        "Buckets, whose dependencies may come from anywhere",
        settings=("tenancy.kinds", "tenancy.extraRules", "tenant: policies.kinds", "tenant: grants"),
        threats=(2, 3, 12, 22, 35, 36, 44),
        subject=Subject.TENANTS,
        resources=(Resources("*", ("*",), CREATE_UPDATE),),
        conditions={
            "closed": closed if _CHARTS in opened else f"{closed} || {_IS_FOREIGN_CHART}",
            "changes-content": f"request.operation == 'CREATE' || {_differs('object', 'oldObject')} || "
            f"{_differs('oldObject', 'object')}",
        },
        variables={
            "resource": RESOURCE,
            "foreign_chart": _IS_FOREIGN_CHART,
            "own": listed(KINDS),
            "entry": f"{mapping(_NAMES)}[?variables.resource].orValue(variables.resource)",
            "instead": f"{mapping(_INSTEAD)}[?variables.entry].orValue('')",
        },
        validations=(
            Validation(
                f"!variables.foreign_chart || {text(_CHARTS)} in variables.own",
                concatenated(
                    f"(variables.resource == {text(_CHARTS)} ? 'spec' : 'spec.chart.spec')",
                    text(".sourceRef.kind is "),
                    _CHART_SOURCE,
                    text(
                        ": such a chart can have dependencies from anywhere; use a HelmRepository or an "
                        "OCIRepository, or ask the platform team for: HelmChart"
                    ),
                    _IN_KINDS,
                ),
            ),
            Validation(
                "variables.foreign_chart || variables.resource in variables.own",
                concatenated(
                    "request.kind.kind",
                    text(" objects are not open to tenant "),
                    TENANT,
                    "variables.instead",
                    text("; ask the platform team for: "),
                    "variables.entry",
                    _IN_KINDS,
                ),
            ),
        ),
    )


def _differs(some: str, others: str) -> str:
    """CEL for whether an object has content that another one has not: any field but metadata and status."""
    return f"{some}.exists(key, !(key in ['metadata', 'status']) && !(key in {others} && {some}[key] == {others}[key]))"
