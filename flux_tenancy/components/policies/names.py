"""The names of the policies, as `policies.modes` and messages use them."""

from __future__ import annotations

from enum import StrEnum


class PolicyName(StrEnum):
    """An admission policy (docs/policies.md). `components.policies.table` defines each of them."""

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
    # Kyverno only: reads registries, or generates objects.
    FLUX_IMAGES = "flux-images"
    TENANT_IMAGES = "tenant-images"
    ONBOARDING = "onboarding"
