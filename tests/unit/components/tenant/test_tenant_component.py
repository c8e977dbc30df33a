"""Tenant: a team's objects are created in order of their dependencies, and deleted in reverse order."""

from typing import Any

import pulumi
from recorded_program import run
from sample_stack import removal, tenant_config

from components.cluster.manifests import BACKGROUND, OWNERSHIP
from components.git.source import GitAccess
from components.tenant.component import Tenant, TenantArgs
from components.tenant.config import TenancyConfig, TenantState

CREDENTIALS = {"url": "https://git.example.com/dev-team/apps", "https": {"password": "pa55word"}}
CONFIG = tenant_config(
    namespaces=[{"name": "apps"}, {"name": "apps-jobs"}], source=CREDENTIALS, sync={"timeout": "10m"}
)
ACCESS_TO_GIT = GitAccess(known_hosts=(), github=None, webhook_url=None)
NAMESPACES = {"Namespace apps", "Namespace apps-jobs"}
LIMITS = {
    f"ResourceQuota {namespace}/dev-team-{name}"
    for namespace in ("apps", "apps-jobs")
    for name in ("flux-objects", "objects")
}
IDENTITY = "ServiceAccount apps/dev-team"
ACCESS = {"RoleBinding apps/dev-team-reconciler", "RoleBinding apps-jobs/dev-team-reconciler"}
SECRET = "Secret dev-team-git"
SOURCE = "GitRepository apps/dev-team"
SYNC = "Kustomization apps/dev-team"
COMPONENT = "Tenant dev-team"


def tenant(opts=None, config=CONFIG):
    return Tenant("dev-team", TenantArgs(config, ACCESS_TO_GIT, TenancyConfig(), *removal()), opts)


def registered():
    """The tenant's resources."""
    return run(lambda: tenant() and None)


def test_every_object_is_created_after_its_dependencies_and_the_sync_last():
    resources = registered()

    assert {name: resource.after for name, resource in resources.items()} == {
        COMPONENT: set(),
        **dict.fromkeys(NAMESPACES, set()),
        **dict.fromkeys(LIMITS, NAMESPACES),
        IDENTITY: NAMESPACES | LIMITS,
        **dict.fromkeys(ACCESS, NAMESPACES | LIMITS | {IDENTITY, SECRET, SOURCE}),
        SECRET: NAMESPACES | LIMITS,
        SOURCE: NAMESPACES | LIMITS | {SECRET},
        SYNC: ACCESS | {SOURCE},
    }


def test_the_objects_have_types_that_the_provider_waits_for():
    assert {name: resource.type for name, resource in registered().items()} == {
        COMPONENT: "flux-tenancy:index:Tenant",
        **dict.fromkeys(NAMESPACES, "kubernetes:core/v1:Namespace"),
        **dict.fromkeys(LIMITS, "kubernetes:core/v1:ResourceQuota"),
        IDENTITY: "kubernetes:core/v1:ServiceAccount",
        **dict.fromkeys(ACCESS, "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding"),
        SECRET: "kubernetes:core/v1:Secret",
        SOURCE: "kubernetes:source.toolkit.fluxcd.io/v1:GitRepository",
        SYNC: "kubernetes:kustomize.toolkit.fluxcd.io/v1:Kustomization",
    }


def test_all_objects_are_children_of_the_tenant():
    parents = {name: resource.parent for name, resource in registered().items()}

    assert parents.pop(COMPONENT).startswith("Stack ")
    assert set(parents.values()) == {COMPONENT}


def test_the_manifests_are_registered_unchanged():
    sync = registered()[SYNC].properties

    assert sync["metadata"] == {
        "name": "dev-team",
        "namespace": "apps",
        "labels": {"toolkit.fluxcd.io/tenant": "dev-team"},
        "annotations": OWNERSHIP | BACKGROUND,
    }
    assert sync["spec"]["serviceAccountName"] == "dev-team"


def test_all_objects_of_a_tenants_source_have_its_name_and_are_in_its_home_namespace():
    resources = registered()

    assert {name: resources[name].properties["metadata"]["labels"] for name in (SECRET, SOURCE)} == dict.fromkeys(
        (SECRET, SOURCE), {"toolkit.fluxcd.io/tenant": "dev-team"}
    )


def test_its_namespaces_and_source_are_attributes():
    found: dict[str, Any] = {}

    def program():
        made = tenant()
        assert made.source is not None and made.sync is not None
        asked = {"namespaces": made.namespaces, "source": made.source.source.urn, "sync": made.sync.urn}
        return pulumi.Output.all(**asked).apply(found.update)

    run(program)

    assert found["namespaces"] == ["apps", "apps-jobs"]
    assert found["source"].endswith("source.toolkit.fluxcd.io/v1:GitRepository::apps/dev-team")
    assert found["sync"].endswith("kustomize.toolkit.fluxcd.io/v1:Kustomization::apps/dev-team")


def test_deleting_a_tenant_waits_longer_than_flux_may_take_to_prune():
    timeouts = {name: resource.delete_timeout for name, resource in registered().items() if resource.delete_timeout}

    assert timeouts == {SYNC: "900s", SOURCE: "60s", **dict.fromkeys(NAMESPACES, "300s")}


def test_syncs_sources_and_namespaces_have_hooks_for_failed_deletions():
    asked = {name: resource.on_error for name, resource in registered().items() if resource.on_error}

    assert asked == {
        SYNC: {"offboarding-sync"},
        SOURCE: {"offboarding-part"},
        **dict.fromkeys(NAMESPACES, {"offboarding-namespace"}),
    }


def test_a_tenant_is_created_after_its_dependencies():
    """Its objects wait because their parent, the component, does."""

    def program():
        first = pulumi.CustomResource("kubernetes:core/v1:ConfigMap", "first", {})
        tenant(pulumi.ResourceOptions(depends_on=[first]))

    resources = run(program)

    assert resources[COMPONENT].after == {"ConfigMap first"}
    assert list(resources)[:2] == ["ConfigMap first", COMPONENT]


def test_a_tenant_that_is_leaving_keeps_its_namespaces_and_limits_unchanged():
    leaving = run(lambda: tenant(config=CONFIG.model_copy(update={"state": TenantState.LEAVING})) and None)
    active = registered()

    assert leaving == {name: active[name] for name in (COMPONENT, *NAMESPACES, *LIMITS)}
    assert IDENTITY in active
