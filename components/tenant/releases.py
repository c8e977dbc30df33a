"""A tenant's Helm releases as plain manifests.

Source: https://fluxcd.io/flux/components/helm/helmreleases/#recommended-settings
"""

from __future__ import annotations

from collections.abc import Iterator

from components.plan.planned import Planned, Stage
from components.sync.build import given, ignore_rules, image_replacements, patches
from components.tenant.release_config import ReleaseConfig
from components.tenant.scope import TenantScope, further_source_meta
from components.tenant.sources import SourceReference, source_reference
from components.tenant.syncs import applied_from
from components.vocabulary.manifests import Manifest
from components.vocabulary.names import HELM_API, HELM_RELEASE
from components.vocabulary.object_meta import ObjectMeta, SecretPurpose

CHART_KINDS = frozenset({"OCIRepository", "ExternalArtifact"})
"""Kinds of source that are one chart, where others hold several."""
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
    """One HelmRelease; it refers to its Secret as `components.plan.generated_names` has it.

    Args:
        meta: metadata of the release's objects; the names of its Secrets begin with its prefix.
        config: the release.
        source: where its chart is.
        account: the service account that it is installed as.
    """
    values_from = [given(each) for each in config.values_from] + [
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
    spec: Manifest = {
        "serviceAccountName": account,
        "releaseName": config.release_name or meta.name,
        "interval": config.interval,
        "timeout": config.timeout,
        **_chart(meta, config, source),
        # Only the platform installs custom resource definitions; a tenant's account may not.
        "install": {"crds": "Skip"} | _after_failure(config),
        "upgrade": {"crds": "Skip"} | _after_failure(config),
    }
    optional = {
        "targetNamespace": config.target_namespace,
        "values": config.values,
        "valuesFrom": values_from,
        "dependsOn": [{"name": each} for each in config.depends_on],
        "driftDetection": _drift_detection(config),
        "test": {"enable": True} if config.test else None,
        "suspend": config.suspend,
        "postRenderers": _post_renderers(config),
        "commonMetadata": given(config.common_metadata) if config.common_metadata else None,
        "healthCheckExprs": [given(each) for each in config.health_check_exprs],
    }
    spec |= {key: value for key, value in optional.items() if value}
    return {"apiVersion": HELM_API, "kind": HELM_RELEASE, "metadata": meta.metadata(meta.name), "spec": spec}


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
    # The HelmChart that helm-controller makes of it is the platform's, too, so that the tenant cannot change it.
    return {"chart": {"metadata": {"labels": dict(meta.labels)}, "spec": template}}


def _after_failure(config: ReleaseConfig) -> Manifest:
    if config.strategy == "RetryOnFailure":
        return {"strategy": {"name": config.strategy, "retryInterval": config.retry_interval or _RETRY_INTERVAL}}
    retries = _RETRIES if config.retries is None else config.retries
    return {"strategy": {"name": config.strategy}, "remediation": {"retries": retries}}


def _drift_detection(config: ReleaseConfig) -> Manifest | None:
    drift = config.drift_detection
    if drift.mode == "disabled":
        return None
    rules = {"ignore": ignore_rules(drift.ignore)} if drift.ignore else {}
    return {"mode": drift.mode} | rules


def _post_renderers(config: ReleaseConfig) -> list[Manifest]:
    changes = {"patches": patches(config.patches), "images": image_replacements(config.images)}
    given_changes = {key: value for key, value in changes.items() if value}
    return [{"kustomize": given_changes}] if given_changes else []
