"""Objects of the platform, and facts for Flux's profile, that need the whole stack.

API priority and fairness: without a level of their own, the accounts of tenants share one with Flux's controllers, and
as many of their requests are in progress as that has room for: a few hundred dry runs of large objects take all of the
API server's CPU. Source: https://kubernetes.io/docs/concepts/cluster-administration/flow-control/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import distribution
from urllib.parse import urlsplit

from flux_tenancy.components.allowlists.entries import ANYTHING
from flux_tenancy.components.cluster.component import PREVIEWER, read_access
from flux_tenancy.components.engine.code import DISTRIBUTION
from flux_tenancy.components.installs.flux.controller_rights import shared_impersonation
from flux_tenancy.components.installs.flux.egress import host_and_port
from flux_tenancy.components.installs.flux.profile import StackFacts
from flux_tenancy.components.policies.kyverno_only import onboards
from flux_tenancy.components.policies.native_only import mutation, tenant_labels
from flux_tenancy.components.rbac.subjects import table
from flux_tenancy.components.sources.config import ExternalArtifactSource
from flux_tenancy.components.sources.objects import fetched_url, is_encrypted
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.sync.decryption import key_service_hosts
from flux_tenancy.components.tenant.capsule.objects import capsule_limits
from flux_tenancy.components.tenant.config import TenantConfig
from flux_tenancy.components.tenant.limits import TenantLimits
from flux_tenancy.components.tenant.people import auditor_access, people_roles
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import Controller

_PLAIN = "http://"
# The schemes of entries in allow-lists that allow sources without TLS; for `oci://` and `bucket://` with `insecure`.
_PLAIN_SCHEMES = (_PLAIN, "oci://", "bucket://")


def plain_http(config: StackConfig) -> dict[Controller, tuple[str, ...]]:
    """The hosts by controller, with their ports; `*` for any.

    A URL that is a secret is not among them: its host would be readable in the controller's Deployment.
    """
    policies = config.policies
    own = [tenant.policies for tenant in config.tenants.values()]
    sources = [*_declared_sources(config)]
    messages = [*sources, *_declared_notifications(config)]
    if policies.sources.plain_http:
        entries = (*policies.sources.allowed, *(entry for each in own for entry in each.sources))
        sources += [_host(each) for each in entries if each == ANYTHING or each.startswith(_PLAIN_SCHEMES)]
    if policies.notifications.plain_http:
        entries = (*policies.notifications.hosts, *(entry for each in own for entry in each.notifications))
        messages += [host_and_port(each) for each in entries]
    hosts = {
        Controller.SOURCE: sources,
        Controller.IMAGE_REFLECTOR: sources,
        Controller.IMAGE_AUTOMATION: sources,
        Controller.NOTIFICATION: messages,
    }
    return {controller: tuple(dict.fromkeys(each)) for controller, each in hosts.items() if each}


def _declared_sources(config: StackConfig) -> Iterator[str]:
    yield from (_host(each.url) for each in config.sources.values() if not is_encrypted(each))
    for tenant in config.active_tenants.values():
        for source in tenant.sources.values():
            if not isinstance(source, ExternalArtifactSource) and not is_encrypted(source):
                yield _host(fetched_url(source))


def _declared_notifications(config: StackConfig) -> Iterator[str]:
    """Hosts of notifications, and of Git repositories, which messages about commits go to by default."""
    several = [config.flux.notifications, config.tenancy.notifications]
    several += [tenant.notifications for tenant in config.active_tenants.values()]
    for each in (notification for notifications in several for notification in notifications.values()):
        if each.address is not None and each.address.lower().startswith(_PLAIN):
            yield _host(each.address)


def _host(url: str) -> str:
    """Host and port of a URL, without a user; `*` of itself."""
    return url if url == ANYTHING else host_and_port(urlsplit(url).netloc.rpartition("@")[2].lower())


def stack_facts(config: StackConfig) -> StackFacts:
    """Hosts that the controllers need, and how many objects that occupy a worker the largest tenant may have."""
    identities = [each.workload_identity for each in config.decryptions.values() if each.workload_identity is not None]
    hosts = (host for identity in identities for host in key_service_hosts(identity))
    # A tenant that is onboarded by label has one namespace.
    limits = [[config.tenancy.limits], *(list(_limits(tenant, config)) for tenant in config.tenants.values())]
    return StackFacts(
        key_services=tuple(dict.fromkeys(hosts)),
        kustomizations=max(sum(each.most_kustomizations for each in own) for own in limits),
        helm_releases=max(sum(each.most_helm_releases for each in own) for own in limits),
        sources=max(sum(each.most_charts for each in own) for own in limits),
        plain_http=plain_http(config),
    )


def _limits(tenant: TenantConfig, config: StackConfig) -> Iterator[TenantLimits]:
    """The limits of each namespace in which Flux applies for a tenant; in those that it makes, only with the release's
    rights."""
    names: Iterable[str] = tenant.namespace_names
    if config.makes_namespaces and not config.flux.impersonates:
        names = (tenant.home, *[""] * capsule_limits(tenant, config.tenancy).namespaces)
    for name in names:
        yield tenant.limits_in(name, config.tenancy.limits)


FLOW_CONTROL = "flowcontrol.apiserver.k8s.io"
REQUESTS_READABLE = table(f"{FLOW_CONTROL}: flowschemas prioritylevelconfigurations")
"""The kinds that previewers read only where the stack has them."""
_LEVEL = "flux-tenancy-tenants"
# Before Kubernetes' own schema of all service accounts, which has 9000.
_PRECEDENCE = 8000
# A tenant waits in two of the queues: another one shares neither with it but once in thousands of pairs, and has at
# least a third of the level.
_QUEUES = {"queues": 128, "handSize": 2, "queueLengthLimit": 50}


def request_priority(config: StackConfig) -> list[Manifest]:
    """The level of all tenants, a flow for each of them, and who may read these; nothing by default."""
    shares = config.tenancy.request_shares
    if shares is None:
        return []
    schemas = [_schema(name, each.namespace_names) for name, each in config.active_tenants.items()]
    readers = read_access(f"{PREVIEWER}-requests", REQUESTS_READABLE, config.cluster.previewers)
    return [_level(shares), *schemas, *readers]


def _level(shares: int) -> Manifest:
    # Nothing is borrowed: what is idle elsewhere is what the platform needs as soon as it has something to do.
    limited = {
        "nominalConcurrencyShares": shares,
        "lendablePercent": 0,
        "borrowingLimitPercent": 0,
        "limitResponse": {"type": "Queue", "queuing": _QUEUES},
    }
    return _object("PriorityLevelConfiguration", _LEVEL, {"type": "Limited", "limited": limited})


def _schema(tenant: str, namespaces: Sequence[str]) -> Manifest:
    """The requests of a tenant as one flow, whichever of its accounts sends them, Flux as one of them, too."""
    groups = [{"kind": "Group", "group": {"name": f"system:serviceaccounts:{each}"}} for each in namespaces]
    resources = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    rule = {
        "subjects": groups,
        "resourceRules": [resources],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    }
    spec = {"matchingPrecedence": _PRECEDENCE, "priorityLevelConfiguration": {"name": _LEVEL}, "rules": [rule]}
    return _object("FlowSchema", f"{_LEVEL}-{tenant}", spec)


def _object(kind: str, name: str, spec: Manifest) -> Manifest:
    return {"apiVersion": f"{FLOW_CONTROL}/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


MONITORING_API = "monitoring.coreos.com/v1"
POD_MONITOR, PROMETHEUS_RULE = "PodMonitor", "PrometheusRule"
MONITORING_READABLE = table("monitoring.coreos.com: podmonitors prometheusrules")
"""The kinds that previewers read only where the stack has them."""


def monitoring_objects(config: StackConfig) -> list[Manifest]:
    """The objects of Prometheus Operator and Grafana that a stack applies; none unless the section says so."""
    if not config.monitoring.operator:
        return []
    [extension] = distribution(DISTRIBUTION).entry_points.select(group="flux_tenancy.objects", name="monitoring")
    readers = read_access(f"{PREVIEWER}-monitoring", MONITORING_READABLE, config.cluster.previewers)
    return [*readers, *extension.load()(config)]


def label_guards(config: StackConfig) -> list[Manifest]:
    """What keeps everyone but the platform from setting the labels of tenants, and what changes objects of tenants."""
    readers = [*config.cluster.previewers, *config.cluster.auditors]
    lanes = mutation("set-lanes", readers) if config.flux.set_lanes else []
    accounts = mutation("set-accounts", readers) if config.flux.set_accounts else []
    pods = mutation("pod-defaults", readers) if config.policies.pod_defaults else []
    return [*tenant_labels(config.policies.mode, makes_namespaces=config.makes_namespaces), *lanes, *accounts, *pods]


def onboarding_rights(config: StackConfig) -> list[Manifest]:
    """What lets Flux's controllers impersonate in namespaces that Kyverno onboards; nothing if it onboards none."""
    onboarding = config.kyverno is not None and onboards(config.policies) and config.flux.impersonates
    return [shared_impersonation(config.flux)] if onboarding else []


def access_of_people(config: StackConfig) -> list[Manifest]:
    """The cluster-scoped objects that give people access."""
    of_tenants = people_roles(config.tenancy, [tenant.people for tenant in config.active_tenants.values()])
    return [*of_tenants, *auditor_access(config.cluster.auditors, config.tenancy)]
