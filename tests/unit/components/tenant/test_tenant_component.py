"""Tenant: a team's objects are created in order of their dependencies, and deleted in reverse order."""

from typing import Any

import pulumi
from recorded_program import GENERATED, run
from sample_plan import tenant_args
from sample_stack import removal, tenant_config

from flux_tenancy.components.git.source import GitAccess
from flux_tenancy.components.plan import BACKGROUND, OWNERSHIP
from flux_tenancy.components.sync.notifications import Notification
from flux_tenancy.components.tenant.component import Tenant
from flux_tenancy.components.tenant.config import TenancyConfig, TenantState
from flux_tenancy.components.tenant.people import TenantPeople

CREDENTIALS = {"url": "https://git.example.com/dev-team/apps", "https": {"password": "pa55word"}}
CONFIG = tenant_config(
    namespaces=[{"name": "apps"}, {"name": "apps-jobs"}], source=CREDENTIALS, sync={"timeout": "10m"}
)
ACCESS_TO_GIT = GitAccess(known_hosts=(), github=None, webhook_url=None)
NAMESPACES = {"Namespace apps", "Namespace apps-jobs"}
LIMITS = {
    f"{kind} {namespace}/dev-team-{name}"
    for namespace in ("apps", "apps-jobs")
    for kind, name in (("ResourceQuota", "flux-objects"), ("ResourceQuota", "objects"), ("LimitRange", "containers"))
}
IDENTITY = "ServiceAccount apps/dev-team"
ACCESS = {"RoleBinding apps/dev-team-reconciler", "RoleBinding apps-jobs/dev-team-reconciler"}
SECRET = "Secret dev-team-git"
SOURCE = "GitRepository apps/dev-team"
SYNC = "Kustomization apps/dev-team"
COMPONENT = "Tenant dev-team"


def tenant(opts=None, config=CONFIG):
    return Tenant("dev-team", tenant_args(config, ACCESS_TO_GIT, TenancyConfig(), removal()), opts)


def registered(config=CONFIG):
    """The tenant's resources."""
    return run(lambda: tenant(config=config) and None)


def leaving(config):
    return registered(config.model_copy(update={"state": TenantState.LEAVING}))


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


def test_all_objects_are_children_of_the_tenant():
    resources = registered()

    component = resources.pop(COMPONENT)
    assert (component.type, component.parent.split()[0]) == ("flux-tenancy:index:Tenant", "Stack")
    assert {resource.parent for resource in resources.values()} == {COMPONENT}


def test_the_manifests_are_registered_unchanged_with_the_tenants_label():
    resources = registered()

    labels = {"toolkit.fluxcd.io/tenant": "dev-team"}
    metadata = {"name": "dev-team", "namespace": "apps", "labels": labels, "annotations": OWNERSHIP | BACKGROUND}
    assert resources[SYNC].properties["metadata"] == metadata
    assert resources[SYNC].properties["spec"]["serviceAccountName"] == "dev-team"
    assert all(resources[name].properties["metadata"]["labels"] == labels for name in (SECRET, SOURCE))


def test_its_namespaces_and_source_are_attributes():
    found: dict[str, Any] = {}

    def program():
        made = tenant()
        asked = {
            "namespaces": made.namespaces,
            "source": made.registered[SOURCE].urn,
            "sync": made.applied["dev-team"].urn,
        }
        return pulumi.Output.all(**asked).apply(found.update)

    run(program)

    assert found["namespaces"] == ["apps", "apps-jobs"]
    assert found["source"].endswith("source.toolkit.fluxcd.io/v1:GitRepository::apps/dev-team")
    assert found["sync"].endswith("kustomize.toolkit.fluxcd.io/v1:Kustomization::apps/dev-team")


def test_deleting_a_tenant_waits_longer_than_flux_may_take_to_prune_and_asks_a_hook_if_it_fails():
    deletions = {
        name: (resource.delete_timeout, resource.on_error)
        for name, resource in registered().items()
        if resource.delete_timeout or resource.on_error
    }

    assert deletions == {
        SYNC: ("900s", {"offboarding-sync"}),
        SOURCE: ("60s", {"offboarding-part"}),
        **dict.fromkeys(NAMESPACES, ("300s", {"offboarding-namespace"})),
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
    active = registered()

    assert leaving(CONFIG) == {name: active[name] for name in (COMPONENT, *NAMESPACES, *LIMITS)}
    assert IDENTITY in active


def test_people_get_access_after_the_limits_and_a_leaving_tenant_has_no_people():
    people = TenantPeople.model_validate({"viewers": [{"kind": "Group", "name": "oidc:dev-team"}]})
    given = CONFIG.model_copy(update={"people": people})

    found = registered(given)

    more = found.keys() - registered().keys()
    assert more == {"RoleBinding apps/dev-team-viewers", "RoleBinding apps-jobs/dev-team-viewers"}
    assert all(found[name].after == NAMESPACES | LIMITS for name in more)
    assert not more & leaving(given).keys()


CHAT = Notification.model_validate({"type": "slack", "secretAddress": "https://hooks.slack.com/a"})
NOTIFIED = CONFIG.model_copy(update={"notifications": {"chat": CHAT}})
NOTIFYING = {
    f"{kind} {namespace}/dev-team-chat" for kind in ("Provider", "Alert") for namespace in ("apps", "apps-jobs")
} | {"Secret apps.chat", "Secret apps-jobs.chat"}


def test_notifications_in_each_namespace_are_created_before_and_deleted_after_access_and_the_sync():
    resources = registered(NOTIFIED)

    assert resources.keys() - registered().keys() == NOTIFYING
    assert resources["Alert apps/dev-team-chat"].after >= {"Provider apps/dev-team-chat", "Secret apps.chat", *LIMITS}
    assert all(resources[each].after >= NOTIFYING for each in ACCESS)
    assert resources[SYNC].after >= ACCESS


def test_a_provider_refers_to_the_generated_name_of_its_secret_and_a_busy_controller_does_not_keep_it():
    provider = registered(NOTIFIED)["Provider apps-jobs/dev-team-chat"]

    assert provider.properties["spec"]["secretRef"] == {"name": f"apps-jobs.chat-{GENERATED}"}
    assert (provider.delete_timeout, provider.on_error) == ("60s", {"offboarding-part"})


def test_the_platforms_notifications_are_in_the_namespaces_of_every_tenant():
    alertmanager = {"type": "alertmanager", "address": "https://alertmanager.example.com"}
    tenancy = TenancyConfig.model_validate({"notifications": {"all": alertmanager}})
    args = tenant_args(CONFIG, ACCESS_TO_GIT, tenancy, removal())

    resources = run(lambda: Tenant("dev-team", args) and None)

    assert resources.keys() - registered().keys() == {
        f"{kind} {namespace}/dev-team-all" for kind in ("Provider", "Alert") for namespace in ("apps", "apps-jobs")
    }


def test_further_syncs_are_created_after_what_they_depend_on_and_deleted_before_it():
    syncs = {"app": {"dependsOn": ["database"]}, "database": {"timeout": "1m"}}

    resources = registered(tenant_config(source=CREDENTIALS, syncs=syncs))

    after = {"RoleBinding apps/dev-team-reconciler", SOURCE}
    assert resources["Kustomization apps/database"].after == resources[SYNC].after == after
    assert resources["Kustomization apps/app"].after == after | {"Kustomization apps/database"}
    assert resources["Kustomization apps/database"].delete_timeout == "360s"
    assert resources["Kustomization apps/app"].on_error == {"offboarding-sync"}


def test_the_tenants_own_sync_may_depend_on_a_further_one():
    config = tenant_config(source=CREDENTIALS, sync={"dependsOn": ["database"]}, syncs={"database": {}})

    resources = registered(config)

    assert "Kustomization apps/database" in resources[SYNC].after


def test_releases_are_created_after_access_and_their_secrets_before_it():
    releases = {"podinfo": {"chart": "./chart", "secretValues": {"api.key": "k3y"}}}

    resources = registered(tenant_config(source=CREDENTIALS, releases=releases))

    secret, release = resources["Secret dev-team.podinfo-values"], resources["HelmRelease apps/podinfo"]
    binding = "RoleBinding apps/dev-team-reconciler"
    assert "Secret dev-team.podinfo-values" in resources[binding].after
    assert release.after == {binding, "Secret dev-team.podinfo-values", SOURCE}
    assert (release.on_error, release.delete_timeout) == ({"offboarding-sync"}, "600s")
    assert secret.properties["data"] == {"secret": {"value-0": "azN5"}}
    name = secret.properties["metadata"].get("name") or f"dev-team.podinfo-values-{GENERATED}"
    assert release.properties["spec"]["valuesFrom"][0]["name"] == name


def test_objects_of_capsule_are_deleted_before_it_although_an_update_without_it_forgets_what_the_component_needs():
    tenancy = TenancyConfig.model_validate({"mode": "capsule"})

    def with_capsule():
        release = pulumi.CustomResource("kubernetes:helm.sh/v3:Release", "capsule", {"name": "capsule"})
        Tenant("dev-team", tenant_args(CONFIG, ACCESS_TO_GIT, tenancy, removal(), capsule=[release]))

    resources = run(with_capsule)

    after = {name for name, resource in resources.items() if "Release capsule" in resource.after}
    assert after == {"Tenant dev-team", "TenantOwner dev-team", "GlobalTenantResource flux-tenancy-dev-team"}
    assert resources["Tenant dev-team"].on_error == {"offboarding-capsule"}
