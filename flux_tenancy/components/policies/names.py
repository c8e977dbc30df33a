"""The names of the policies, as `policies.modes` and messages use them."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from pathlib import Path

POLICIES_FOLDER, POLICY_FILE = Path(__file__).parent, "policy.yaml"


def _further(named: Collection[object]) -> dict[str, str]:
    """The policies that are folders and have no line below, which need one only if the program names them."""
    folders = sorted(file.parent.name for file in POLICIES_FOLDER.glob(f"*/{POLICY_FILE}"))
    return {name.replace("-", "_").upper(): name for name in folders if name not in named}


class PolicyName(StrEnum):
    """An admission policy (docs/policies.md)."""

    # In the order in which they are registered. Each is a folder, except for those of Kyverno alone.
    # Limits what objects in a tenant's namespace may contain, whoever writes them.
    ALLOWED_SOURCES = "allowed-sources"
    SOURCE_OPTIONS = "source-options"
    VERIFIED_SOURCES = "verified-sources"
    NOTIFICATION_ADDRESSES = "notification-addresses"
    LANE = "lane"
    TENANT_SERVICE_ACCOUNT = "tenant-service-account"
    NO_KUBECONFIG = "no-kubeconfig"
    OWN_NAMESPACES = "own-namespaces"
    NO_CROSS_NAMESPACE_REFERENCES = "no-cross-namespace-references"
    RECONCILIATION_INTERVAL = "reconciliation-interval"
    RECONCILIATION_TIMEOUT = "reconciliation-timeout"
    CONTROLLER_LOAD = "controller-load"
    SERVICE_EXPOSURE = "service-exposure"
    LOAD_BALANCERS = "load-balancers"
    HOST_ACCESS = "host-access"
    POD_IDENTITY = "pod-identity"
    NODE_PLACEMENT = "node-placement"
    PRIORITY_CLASSES = "priority-classes"
    VOLUME_CLAIMS = "volume-claims"
    VOLUME_CLASSES = "volume-classes"
    POD_VOLUMES = "pod-volumes"
    DISRUPTION_BUDGETS = "disruption-budgets"
    ALLOWED_HOSTS = "allowed-hosts"
    INGRESS_SNIPPETS = "ingress-snippets"
    ALLOWED_IMAGES = "allowed-images"
    ALLOWED_FIELDS = "allowed-fields"
    POD_SIZE = "pod-size"
    # Limits what a tenant, unlike the platform, may do in its namespace.
    ALLOWED_KINDS = "allowed-kinds"
    PLATFORM_OBJECTS = "platform-objects"
    UNHELD_DELETION = "unheld-deletion"
    RELEASE_SIZE = "release-size"
    TENANT_NAMESPACE = "tenant-namespace"
    TENANT_LIMITS = "tenant-limits"
    TENANT_ACCESS = "tenant-access"
    NOTIFICATION_SECRETS = "notification-secrets"
    STATUS_WRITES = "status-writes"
    POLICY_OBJECTS = "policy-objects"
    EPHEMERAL_CONTAINERS = "ephemeral-containers"
    # Limits what people with part of a tenant's rights may do; only where tenants have developers.
    FLUX_REQUESTS = "flux-requests"
    # Holds the changes of tenants for a time; only where the stack has a freeze.
    FREEZE = "freeze"
    # Kyverno only: reads registries, or generates objects.
    FLUX_IMAGES = "flux-images"
    TENANT_IMAGES = "tenant-images"
    ONBOARDING = "onboarding"
    vars().update(_further([*vars().values()]))
