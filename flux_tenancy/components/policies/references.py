"""Policies about Flux's objects: identities, clusters and namespaces that they refer to, and their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import concatenated, field_of, joined, text
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.policy import Policy, Resources, Subject, Validation
from flux_tenancy.components.policies.request import ASK, FLUX_ACCOUNT, OWN_NAMESPACES, is_own, value_of
from flux_tenancy.components.tenant.annotations import IMPLIED_ACCOUNT
from flux_tenancy.components.tenant.role import MANAGED

if TYPE_CHECKING:
    from flux_tenancy.components.policies.config import PoliciesConfig

_APPLYING = (
    Resources("kustomize.toolkit.fluxcd.io", ("kustomizations",)),
    Resources("helm.toolkit.fluxcd.io", ("helmreleases",)),
)
FLUX = tuple(Resources(group, names) for group, names in MANAGED if group.endswith(".fluxcd.io"))
"""All of Flux's objects that a tenant may write."""

# Fields below `spec` of all of Flux's kinds with one or several references that can name a namespace.
_REFERENCES = ("sourceRef", "chart.spec.sourceRef", "chartRef", "imageRepositoryRef")
_LISTS_OF_REFERENCES = ("dependsOn", "eventSources", "resources", "sources")
_NAMESPACES = ("targetNamespace", "storageNamespace")
_INTERVALS = (
    "interval",
    "retryInterval",
    "chart.spec.interval",
    "install.strategy.retryInterval",
    "upgrade.strategy.retryInterval",
)


def tenant_service_account() -> Policy:
    """Flux applies a tenant's objects as the tenant's own service account."""
    return Policy(
        name=PolicyName.TENANT_SERVICE_ACCOUNT,
        refuses="Kustomizations and HelmReleases that are not applied as the tenant's service account",
        threats=(5, 6),
        subject=Subject.CONTENT,
        resources=_APPLYING,
        variables={"account": "object.spec.?serviceAccountName.orValue('')", "expected": FLUX_ACCOUNT},
        validations=(
            Validation(
                f"(variables.account == '' ? {value_of(IMPLIED_ACCOUNT, text(''))} : variables.account) == "
                "variables.expected",
                concatenated(
                    "(variables.account == '' ? 'spec.serviceAccountName is missing' : "
                    "'spec.serviceAccountName is ' + variables.account)",
                    text("; Flux applies everything in this namespace as its tenant: set it to "),
                    "variables.expected",
                ),
            ),
        ),
    )


def no_kubeconfig(*, through_proxy: bool = False) -> Policy:
    """Nothing is applied to another cluster, or with credentials other than the tenant's service account.

    Args:
        through_proxy: whether the platform's own syncs of tenants go through capsule-proxy.
    """
    return Policy(
        name=PolicyName.NO_KUBECONFIG,
        refuses="Kustomizations and HelmReleases with a `kubeConfig`",
        threats=(15,),
        subject=Subject.CONTENT,
        resources=_APPLYING,
        validations=(
            Validation(
                "!has(object.spec.kubeConfig)",
                concatenated(text("spec.kubeConfig selects another cluster or other credentials; remove it"), ASK),
                exempts_platform_objects=through_proxy,
            ),
        ),
    )


def own_namespaces(*, makes_namespaces: bool = False) -> Policy:
    """Applied objects and Helm's storage stay in the tenant's own namespaces.

    Args:
        makes_namespaces: whether tenants make namespaces.
    """
    return Policy(
        name=PolicyName.OWN_NAMESPACES,
        refuses="a `targetNamespace` or `storageNamespace` that does not belong to the tenant",
        threats=(9,),
        subject=Subject.CONTENT,
        resources=_APPLYING,
        variables={"own": OWN_NAMESPACES},
        validations=tuple(
            Validation(
                is_own(f"object.spec.?{name}.orValue('')", "[''] + variables.own", makes_namespaces=makes_namespaces),
                concatenated(
                    text(f"spec.{name} is "),
                    f"object.spec.{name}",
                    text(", which does not belong to this tenant; remove it or use one of: "),
                    joined("variables.own"),
                ),
            )
            for name in _NAMESPACES
        ),
    )


def no_cross_namespace_references() -> Policy:
    """Flux's objects refer only to objects of their own namespace."""
    return Policy(
        name=PolicyName.NO_CROSS_NAMESPACE_REFERENCES,
        refuses="references to Flux's objects in another namespace, even one of the same tenant",
        threats=(1, 2, 3),
        subject=Subject.CONTENT,
        resources=FLUX,
        validations=(
            *(_own_reference(path) for path in _REFERENCES),
            *(_own_references(path) for path in _LISTS_OF_REFERENCES),
        ),
    )


def reconciliation_interval(config: PoliciesConfig) -> Policy:
    """No object is reconciled more often than the platform allows."""
    return Policy(
        name=PolicyName.RECONCILIATION_INTERVAL,
        refuses="intervals and retry intervals of Flux's objects that are too short",
        settings=("policies.minimumInterval",),
        threats=(24,),
        subject=Subject.CONTENT,
        resources=FLUX,
        validations=tuple(_long_enough(path, config.minimum_interval) for path in _INTERVALS),
    )


def _own_reference(path: str) -> Validation:
    namespace = field_of("object.spec", f"{path}.namespace")
    return Validation(
        f"{namespace}.orValue('') in ['', request.namespace]",
        _foreign(f"spec.{path}.namespace", f"{namespace}.orValue('')"),
    )


def _own_references(path: str) -> Validation:
    references = f"{field_of('object.spec', path)}.orValue([])"
    foreign = "!(each.?namespace.orValue('') in ['', request.namespace])"
    return Validation(
        f"!{references}.exists(each, {foreign})",
        _foreign(f"spec.{path}[].namespace", joined(f"{references}.filter(each, {foreign}).map(each, each.namespace)")),
    )


def _foreign(field: str, value: str) -> str:
    return concatenated(
        text(f"{field} is "),
        value,
        text("; objects may refer only to objects in their own namespace: remove it or use "),
        "request.namespace",
    )


def _long_enough(path: str, shortest: str) -> Validation:
    value = field_of("object.spec", path)
    return Validation(
        f"duration({value}.orValue({text(shortest)})) >= duration({text(shortest)})",
        concatenated(text(f"spec.{path} is "), f"{value}.orValue('')", text(f"; the minimum is {shortest}")),
    )
