"""A tenant's Helm releases: their section, and their HelmReleases.

Source: https://fluxcd.io/flux/components/helm/helmreleases/#recommended-settings
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from flux_tenancy.components.config.errors import NO_EFFECT, NOT_A, MisplacedValueError
from flux_tenancy.components.config.section import SET_BY_PLATFORM, Passed, merged, written
from flux_tenancy.components.config.types import DnsLabel, Duration, NamespaceName, SecretText, matching
from flux_tenancy.components.plan import Planned, Stage
from flux_tenancy.components.sync.kustomization import Patch, patches
from flux_tenancy.components.tenant.scope import further_source_meta
from flux_tenancy.components.tenant.syncs import SourceReference, applied_from, source_reference
from flux_tenancy.components.vocabulary.names import HELM_API, HELM_RELEASE, ObjectMeta, SecretPurpose

if TYPE_CHECKING:
    from flux_tenancy.components.tenant.scope import TenantScope
    from flux_tenancy.components.vocabulary.manifests import Manifest


# Helm's limit. Source: `releaseName` in the CRD of helm-controller
ReleaseName = Annotated[
    str,
    *matching(
        r"^[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?$",
        NOT_A(what="the name of a Helm release", example="shop, with at most 53 lowercase letters, digits and dashes"),
    ),
]
# Source: `ValuesReference` in github.com/fluxcd/pkg/apis/meta
ValuesPath = Annotated[
    str,
    *matching(
        r"^([a-zA-Z0-9_\-.\\/]|\[[0-9]{1,5}\]){1,250}$",
        NOT_A(what="the path of a value", example="redis.password or hosts[0].name"),
    ),
]
_BY_STRATEGY = "set strategy, retryInterval and retries"
_SET_HERE: Mapping[str, str] = {
    "crds": "install the definitions as the platform: a tenant's account may not",
    "strategy": _BY_STRATEGY,
}
"""Fields of `install` and `upgrade` that the platform sets, and what to do instead."""


def _test(value: Any) -> Any:
    return {"enable": value} if isinstance(value, bool) else value


_TEST = {"anyOf": [{"type": "boolean"}, {"type": "object"}], "description": "true or false, or a mapping"}


class ReleaseConfig(Passed):
    """A Helm release of the tenant (docs/syncs.md#releases).

    Source: https://fluxcd.io/flux/components/helm/helmreleases/
    """

    source: DnsLabel | None = Field(
        None, description="Source of the chart, in `sources` or offered by `shared`; defaults to `source`."
    )
    chart: str | None = Field(
        None,
        min_length=1,
        description="Name of the chart in a HelmRepository, or its folder in a GitRepository or Bucket.",
    )
    version: str | None = Field(
        None, min_length=1, description="Version or range of a chart in a HelmRepository, e.g. `6.x`; defaults to `*`."
    )
    values: dict[str, Any] = Field(default_factory=dict, description="Values; the stack's are merged over the base's.")
    values_from: tuple[dict[str, Any], ...] = Field(
        (), description="ConfigMaps and Secrets with more values; later entries win, and `values` wins over all."
    )
    secret_values: dict[ValuesPath, SecretText] = Field(
        default_factory=dict,
        description="Secret values by their paths in the values, e.g. `redis.password`; they override `valuesFrom`.",
    )
    values_files: tuple[str, ...] = Field(
        (), description="Values files of the chart's source, instead of its `values.yaml`."
    )
    reconcile_strategy: Literal["ChartVersion", "Revision"] = Field(
        "ChartVersion", description="When a chart in Git or a Bucket is new: with a new version, or with each revision."
    )
    release_name: ReleaseName | None = Field(
        None, description="Name of the Helm release; defaults to the name of the HelmRelease."
    )
    target_namespace: NamespaceName | None = Field(
        None, description="Namespace to install into; must belong to the tenant; defaults to its home."
    )
    depends_on: tuple[DnsLabel, ...] = Field((), description="Releases of the tenant that must be ready first.")
    interval: Duration = Field("30m", description="How often to reconcile the Helm release.")
    chart_interval: Duration = Field("5m", description="How often to look for a new version of the chart.")
    timeout: Duration = Field("5m", description="How long each step of Helm may take.")
    strategy: Literal["RetryOnFailure", "RemediateOnFailure"] = Field(
        "RetryOnFailure", description="After a failure: try again, or, for stateless applications, roll back."
    )
    retry_interval: Duration | None = Field(None, description="RetryOnFailure: when to try again; defaults to `5m`.")
    retries: int | None = Field(
        None, ge=0, description="RemediateOnFailure: attempts before Flux gives up; defaults to 3."
    )
    install: dict[str, Any] = Field(default_factory=dict, description="Further fields of `spec.install`.")
    upgrade: dict[str, Any] = Field(default_factory=dict, description="Further fields of `spec.upgrade`.")
    test: Annotated[dict[str, Any], BeforeValidator(_test), WithJsonSchema(_TEST)] = Field(
        default_factory=dict, description="Run the chart's tests: `true`, or fields of `spec.test`."
    )
    suspend: bool = Field(False, description="Suspend reconciling.")
    patches: tuple[Patch, ...] = Field((), description="Changes of objects of the chart (docs/syncs.md).")
    images: tuple[dict[str, Any], ...] = Field((), description="Replacements of image names, tags and digests.")

    kind_of_object = HELM_RELEASE
    api_reference = "https://fluxcd.io/flux/components/helm/api/v2/"
    owned: ClassVar[Mapping[str, str]] = {
        "chartRef": "set source",
        "kubeConfig": "remove it: a stack is a cluster",
        "postRenderers": "set patches and images",
        "serviceAccountName": "remove it",
    }

    @model_validator(mode="after")
    def _set_here(self) -> ReleaseConfig:
        for part, fields in {"install": self.install, "upgrade": self.upgrade}.items():
            for key in fields.keys() & _SET_HERE.keys():
                raise MisplacedValueError((part, key), SET_BY_PLATFORM(remedy=_SET_HERE[key]))
        return self

    @model_validator(mode="after")
    def _retried_one_way(self) -> ReleaseConfig:
        retries = self.strategy == "RetryOnFailure"
        key, value = ("retries", self.retries) if retries else ("retryInterval", self.retry_interval)
        if value is not None:
            raise MisplacedValueError(
                (key,), NO_EFFECT(reason=f"the strategy {self.strategy} ignores it", remedy="remove it")
            )
        return self


CHART_KINDS = frozenset({"OCIRepository", "ExternalArtifact"})
"""Kinds of source that are one chart, where others hold several."""
OF_CHARTS = ("ignoreMissingValuesFiles", "verify")
"""Further keys that are fields of the chart (`spec.chart.spec`)."""
_RETRY_INTERVAL, _RETRIES = "5m", 3


def planned_releases(tenant: TenantScope) -> Iterator[Planned]:
    """The tenant's HelmReleases, each with the Secret of its secret values, if it has some."""
    for name, release in tenant.config.releases.items():
        source = source_reference(tenant.name, tenant.config, release.source)
        meta = further_source_meta(tenant.name, tenant.config, name)
        if secret := _secret_values(meta, release):
            yield Planned(Stage.CONTENT, secret)
        yield applied_from(source, helm_release(meta, release, source, tenant.account))


def _secret_keys(config: ReleaseConfig) -> dict[str, str]:
    """The entry of the Secret for each secret value."""
    return {path: f"value-{index}" for index, path in enumerate(sorted(config.secret_values))}


def _secret_values(meta: ObjectMeta, config: ReleaseConfig) -> Manifest | None:
    keys = _secret_keys(config)
    data = {keys[path]: value.get_secret_value() for path, value in config.secret_values.items()}
    return meta.generated_secret(SecretPurpose.VALUES, data) if data else None


def helm_release(meta: ObjectMeta, config: ReleaseConfig, source: SourceReference, account: str) -> Manifest:
    """One HelmRelease; it refers to its Secret as `components.plan` has it.

    Args:
        meta: metadata of the release's objects; the names of its Secrets begin with its prefix.
    """
    values_from = [written(each) for each in config.values_from] + [
        {
            "kind": "Secret",
            "name": meta.secret_reference(SecretPurpose.VALUES),
            "valuesKey": key,
            "targetPath": path,
            # Otherwise Helm would read commas and brackets of a secret as its own syntax.
            "literal": True,
        }
        for path, key in _secret_keys(config).items()
    ]
    # Only the platform installs custom resource definitions; a tenant's account may not.
    each_step = {"crds": "Skip"} | _after_failure(config)
    spec: Manifest = {
        "serviceAccountName": account,
        "releaseName": config.release_name or meta.name,
        "interval": config.interval,
        "timeout": config.timeout,
        **_chart(meta, config, source),
        "install": merged(each_step, written(config.install)),
        "upgrade": merged(each_step, written(config.upgrade)),
    }
    optional = {
        "targetNamespace": config.target_namespace,
        "values": config.values,
        "valuesFrom": values_from,
        "dependsOn": [{"name": each} for each in config.depends_on],
        "test": config.test if config.test != {"enable": False} else None,
        "suspend": config.suspend,
        "postRenderers": _post_renderers(config),
    }
    spec |= {key: value for key, value in optional.items() if value}
    return {
        "apiVersion": HELM_API,
        "kind": HELM_RELEASE,
        "metadata": meta.metadata(meta.name),
        "spec": merged(spec, _further(config)),
    }


def _further(config: ReleaseConfig) -> Manifest:
    """What is passed through; drift is not detected by default, and objects that were applied before do not say so."""
    nothing = ("driftDetection", {"mode": "disabled"})
    return {key: each for key, each in config.further.items() if (key, each) != nothing and key not in OF_CHARTS}


def _chart(meta: ObjectMeta, config: ReleaseConfig, source: SourceReference) -> Manifest:
    if source.kind in CHART_KINDS:
        return {"chartRef": source.reference}
    template: Manifest = {"chart": config.chart, "sourceRef": source.reference, "interval": config.chart_interval}
    if config.version is not None:
        template["version"] = config.version
    if config.values_files:
        template["valuesFiles"] = list(config.values_files)
    if config.reconcile_strategy != "ChartVersion":
        template["reconcileStrategy"] = config.reconcile_strategy
    template |= {key: each for key, each in config.further.items() if key in OF_CHARTS}
    # The HelmChart that helm-controller makes of it is the platform's, too, so that the tenant cannot change it.
    return {"chart": {"metadata": {"labels": dict(meta.labels)}, "spec": template}}


def _after_failure(config: ReleaseConfig) -> Manifest:
    if config.strategy == "RetryOnFailure":
        return {"strategy": {"name": config.strategy, "retryInterval": config.retry_interval or _RETRY_INTERVAL}}
    retries = _RETRIES if config.retries is None else config.retries
    return {"strategy": {"name": config.strategy}, "remediation": {"retries": retries}}


def _post_renderers(config: ReleaseConfig) -> list[Manifest]:
    changes = {"patches": patches(config.patches), "images": [written(each) for each in config.images]}
    given = {key: value for key, value in changes.items() if value}
    return [{"kustomize": given}] if given else []
