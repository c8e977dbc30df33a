"""What Prometheus reads: the controllers, and the state of Flux's objects by way of kube-state-metrics.

Sources: https://prometheus.io/docs/prometheus/latest/configuration/configuration/#scrape_config,
https://prometheus-operator.dev/docs/api-reference/api/#monitoring.coreos.com/v1.PodMonitor and
https://github.com/kubernetes/kube-state-metrics/blob/main/docs/metrics/extend/customresourcestate-metrics.md
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.installs.flux.release import instances_of
from flux_tenancy.components.vocabulary.names import (
    APPLIED_SOURCES,
    BUCKET,
    FLUX_NAMESPACE,
    GIT_REPOSITORY,
    HELM_API,
    HELM_CHART,
    HELM_RELEASE,
    HELM_REPOSITORY,
    KUSTOMIZATION,
    KUSTOMIZE_API,
    OCI_REPOSITORY,
    SOURCE_API,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flux_tenancy.components.stack.config import StackConfig

_KINDS = {
    KUSTOMIZATION: KUSTOMIZE_API,
    HELM_RELEASE: HELM_API,
    **dict.fromkeys((GIT_REPOSITORY, OCI_REPOSITORY, HELM_REPOSITORY, BUCKET, HELM_CHART), SOURCE_API),
}
_CONDITIONS = ["status", "conditions"]
_READY = [*_CONDITIONS, "[type=Ready]"]
_NOT_APPLIED = {KUSTOMIZATION: ("ReconciliationFailed",), HELM_RELEASE: ("InstallFailed", "UpgradeFailed")}
"""The reasons of the conditions whose message may be a refusal. The message of a failed build is left out: it names a
random folder, so each attempt would be a new series."""


@dataclass(frozen=True)
class ScrapeTarget:
    """Pods that serve metrics.

    Attributes:
        job: name of the job.
        namespace: their namespace.
        label: the label that selects them.
        values: the values of it.
        ports: names of the containers' ports.
        kept: pattern of the metrics that are kept: what the dashboards and alerts read, and little more.
    """

    job: str
    namespace: str
    label: str
    values: tuple[str, ...]
    ports: tuple[str, ...]
    kept: str

    def scrape(self) -> dict[str, Any]:
        """A scrape configuration of Prometheus."""
        return {
            "job_name": self.job,
            # The metrics of Flux have the namespaces of its objects.
            "honor_labels": True,
            "kubernetes_sd_configs": [{"role": "pod", "namespaces": {"names": [self.namespace]}}],
            "relabel_configs": [
                _keep("__meta_kubernetes_pod_container_port_name", "|".join(self.ports)),
                _keep(f"__meta_kubernetes_pod_label_{_as_label(self.label)}", "|".join(self.values)),
                {"source_labels": ["__meta_kubernetes_namespace"], "target_label": "namespace"},
                {"source_labels": ["__meta_kubernetes_pod_name"], "target_label": "pod"},
            ],
            "metric_relabel_configs": [_keep("__name__", self.kept)],
        }

    def monitor(self) -> dict[str, Any]:
        """The same as the `spec` of a PodMonitor."""
        return {
            "namespaceSelector": {"matchNames": [self.namespace]},
            "selector": {"matchExpressions": [{"key": self.label, "operator": "In", "values": [*self.values]}]},
            "podMetricsEndpoints": [
                {
                    "port": port,
                    "honorLabels": True,
                    "relabelings": [{"targetLabel": "job", "replacement": self.job}],
                    "metricRelabelings": [{"sourceLabels": ["__name__"], "regex": self.kept, "action": "keep"}],
                }
                for port in self.ports
            ],
        }


def _keep(label: str, pattern: str) -> dict[str, Any]:
    return {"source_labels": [label], "regex": pattern, "action": "keep"}


def _as_label(name: str) -> str:
    """A label of Kubernetes as Prometheus names it."""
    return "".join(each if each.isalnum() else "_" for each in name)


def targets(config: StackConfig) -> Iterator[ScrapeTarget]:
    """The controllers of a stack."""
    yield ScrapeTarget(
        "flux",
        FLUX_NAMESPACE,
        "app",
        tuple(name for each in config.flux.components for name in instances_of(each, config.flux.lanes)),
        ("http-prom",),
        "gotk_reconcile_.+|controller_runtime_(active_workers|max_concurrent_reconciles|reconcile_(errors_)?total)"
        "|workqueue_(depth|longest_running_processor_seconds)|process_(resident_memory_bytes|cpu_seconds_total)",
    )
    if config.kyverno is not None:
        yield ScrapeTarget(
            "kyverno",
            "kyverno",
            "app.kubernetes.io/part-of",
            ("kyverno",),
            ("metrics-port", "metrics"),
            "kyverno_(admission_requests|validating_policy_results)_total|process_(resident_memory_bytes|cpu_seconds_total)",
        )


def state_metrics() -> dict[str, Any]:
    """The configuration of kube-state-metrics for Flux's objects.

    `gotk_resource_info` and its labels are those of Flux's own example, so that other dashboards for it work as well.

    Source: https://github.com/fluxcd/flux2-monitoring-example
    """
    return {
        "kind": "CustomResourceStateMetrics",
        "spec": {"resources": [_resource(kind, api) for kind, api in _KINDS.items()]},
    }


def _resource(kind: str, api: str) -> dict[str, Any]:
    group, _, version = api.partition("/")
    labels: dict[str, Any] = {
        "exported_namespace": ["metadata", "namespace"],
        "ready": [*_READY, "status"],
        "reason": [*_READY, "reason"],
        "suspended": ["spec", "suspend"],
    }
    metrics = [_info("resource_info", "State of an object of Flux.", labels)]
    if kind == KUSTOMIZATION:
        labels["revision"] = ["status", "lastAppliedRevision"]
        labels["source_kind"] = ["spec", "sourceRef", "kind"]
        labels["source_name"] = ["spec", "sourceRef", "name"]
    elif kind == HELM_RELEASE:
        labels["revision"] = ["status", "history", "0", "chartVersion"]
    else:
        labels["revision"] = ["status", "artifact", "revision"]
    if kind in APPLIED_SOURCES:
        fetched = {
            "name": "resource_fetched_time_seconds",
            "help": "When the source has fetched its revision.",
            "each": {"type": "Gauge", "gauge": {"path": ["status", "artifact", "lastUpdateTime"]}},
            "labelsFromPath": {
                "name": ["metadata", "name"],
                "exported_namespace": labels["exported_namespace"],
                "revision": labels["revision"],
            },
        }
        metrics.append(fetched)
    for reason in _NOT_APPLIED.get(kind, ()):
        path = [*_CONDITIONS, f"[reason={reason}]"]
        refused = {
            "name": "resource_apply_failure_info",
            "help": "Why an object of Flux could not apply its revision.",
            "each": {"type": "Info", "info": {"path": path, "labelsFromPath": {"message": ["message"]}}},
            "labelsFromPath": {"name": ["metadata", "name"], "exported_namespace": labels["exported_namespace"]},
        }
        metrics.append(refused)
    return {
        "groupVersionKind": {"group": group, "version": version, "kind": kind},
        "metricNamePrefix": "gotk",
        "metrics": metrics,
    }


def _info(name: str, text: str, labels: dict[str, Any]) -> dict[str, Any]:
    identity = {"name": ["metadata", "name"]}
    return {
        "name": name,
        "help": text,
        "each": {"type": "Info", "info": {"labelsFromPath": identity}},
        "labelsFromPath": labels,
    }
