"""What a tenant may do in its namespaces and, above all, what it may not: lift its limits, gain or pass on rights."""

import pytest

from flux_tenancy.components.rbac.rights import Permission, permissions
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.tenant.role import NETWORK_POLICIES, ROLES, PolicyRule, resources_of_rules, tenant_role

CORE = ""
CHANGE = ("create", "update", "patch", "delete", "deletecollection")


def allows(verb, group, resource, tenancy=None):
    """Whether the role allows a request. As in Kubernetes, one rule is enough, and `*` matches everything."""
    rules = tenant_role(tenancy or TenancyConfig())["rules"]
    return any(
        {verb, "*"} & set(rule["verbs"])
        and {group, "*"} & set(rule["apiGroups"])
        and {resource, "*", resource.replace(resource.split("/")[0], "*", 1)} & set(rule["resources"])
        for rule in rules
    )


MANAGE, READ = (
    {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
    {"get", "list", "watch"},
)
# Written out, since no other list of the product may say what this one should be.
WHOLE_ROLE = {
    "": (
        (MANAGE, "configmaps persistentvolumeclaims pods secrets serviceaccounts services"),
        (READ, "endpoints events limitranges pods/log pods/status resourcequotas resourcequotas/status"),
        ({"create", "get"}, "pods/attach pods/eviction pods/exec pods/portforward"),
    ),
    "apps": ((MANAGE, "daemonsets deployments deployments/scale replicasets statefulsets statefulsets/scale"),),
    "autoscaling": ((MANAGE, "horizontalpodautoscalers"),),
    "batch": ((MANAGE, "cronjobs jobs"),),
    "coordination.k8s.io": ((MANAGE, "leases"),),
    "discovery.k8s.io": ((READ, "endpointslices"),),
    "events.k8s.io": ((READ, "events"),),
    "helm.toolkit.fluxcd.io": ((MANAGE, "helmreleases"),),
    "image.toolkit.fluxcd.io": ((MANAGE, "imagepolicies imagerepositories imageupdateautomations"),),
    "kustomize.toolkit.fluxcd.io": ((MANAGE, "kustomizations"),),
    "networking.k8s.io": ((MANAGE, "ingresses"), (READ, "networkpolicies")),
    "notification.toolkit.fluxcd.io": ((MANAGE, "alerts providers receivers"),),
    "policy": ((MANAGE, "poddisruptionbudgets"),),
    "rbac.authorization.k8s.io": ((READ, "rolebindings roles"),),
    "source.extensions.fluxcd.io": ((MANAGE, "artifactgenerators"),),
    "source.toolkit.fluxcd.io": (
        (MANAGE, "buckets gitrepositories helmcharts helmrepositories ocirepositories"),
        (READ, "externalartifacts"),
    ),
}


def test_the_role_of_a_tenant_is_exactly_this():
    wanted = {
        Permission(verb, group, resource)
        for group, rules in WHOLE_ROLE.items()
        for verbs, resources in rules
        for resource in resources.split()
        for verb in verbs
    }

    assert permissions(tenant_role(TenancyConfig())["rules"]) == wanted


@pytest.mark.parametrize("opened", [ROLES, NETWORK_POLICIES], ids=["roles", "networkPolicies"])
def test_what_the_stack_opens_is_added_and_nothing_else(opened):
    rules = permissions(tenant_role(TenancyConfig(), opened)["rules"])

    added = {Permission(verb, group, name) for group, names in opened for name in names for verb in MANAGE}
    assert rules - permissions(tenant_role(TenancyConfig())["rules"]) == added - {
        each for each in added if each.verb in READ
    }
    assert not {each.verb for each in rules} & {"bind", "escalate", "impersonate"}


RESTRICTING = {
    # Its limits; objects that only controllers write, or that redirect another tenant's traffic; ways around Pod
    # Security and around its own identity; resources of the cluster.
    CORE: "resourcequotas limitranges pods/status services/status resourcequotas/status endpoints "
    "pods/ephemeralcontainers serviceaccounts/token namespaces namespaces/finalize nodes persistentvolumes",
    "networking.k8s.io": "networkpolicies",
    # Rights that give it, or others, more rights.
    "rbac.authorization.k8s.io": "roles rolebindings clusterroles clusterrolebindings",
    "apps": "deployments/status",
    "source.toolkit.fluxcd.io": "gitrepositories/status ocirepositories/status helmcharts/status externalartifacts "
    "externalartifacts/status",
    "kustomize.toolkit.fluxcd.io": "kustomizations/status kustomizations/finalizers",
    "helm.toolkit.fluxcd.io": "helmreleases/status",
    "discovery.k8s.io": "endpointslices",
    "apiextensions.k8s.io": "customresourcedefinitions",
    "scheduling.k8s.io": "priorityclasses",
    # Admission policies and webhooks.
    "admissionregistration.k8s.io": "validatingwebhookconfigurations",
    "kyverno.io": "policies policyexceptions",
    "policies.kyverno.io": "policyexceptions namespacedvalidatingpolicies",
}


@pytest.mark.parametrize(
    ("group", "resource"), [(group, resource) for group, names in RESTRICTING.items() for resource in names.split()]
)
def test_a_tenant_cannot_change_what_restricts_it(group, resource):
    assert [verb for verb in CHANGE if allows(verb, group, resource)] == []


@pytest.mark.parametrize("verb", ["impersonate", "bind", "escalate", "approve", "sign", "use"])
def test_a_tenant_has_no_verb_that_leads_to_more_rights(verb):
    assert not any(verb in rule["verbs"] for rule in tenant_role(TenancyConfig())["rules"])


def test_the_platforms_extra_rules_are_added_unchanged():
    certificates = {"apiGroups": ["cert-manager.io"], "resources": ["certificates"], "verbs": ["get", "create"]}
    named = {"apiGroups": [CORE], "resources": ["configmaps"], "verbs": ["get"], "resourceNames": ["motd"]}
    tenancy = TenancyConfig.model_validate({"extraRules": [certificates, named]})

    role = tenant_role(tenancy)

    assert role["rules"] == [*tenant_role(TenancyConfig())["rules"], certificates, named]
    assert allows("create", "cert-manager.io", "certificates", tenancy)


def test_what_extra_rules_say_of_all_resources_or_of_parts_of_some_opens_no_kind():
    resources = ["*", "certificates", "certificates/status", "certificates"]
    rule = {"apiGroups": ["cert-manager.io", "*"], "resources": resources, "verbs": ["create"]}

    assert resources_of_rules([PolicyRule.model_validate(rule)]) == ("certificates.cert-manager.io",)


def test_there_is_one_cluster_role_with_the_projects_prefix():
    role = tenant_role(TenancyConfig())

    assert (role["kind"], role["metadata"]) == ("ClusterRole", {"name": "flux-tenancy-tenant"})
