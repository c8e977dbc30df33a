"""Impersonation: the right to impersonate tenants is granted before syncs need it and before controllers change."""

from __future__ import annotations

import pulumi
import pytest
from recorded_program import run
from sample_release import release
from sample_stack import FLUX, load, removal

from flux_tenancy.components.engine.state import State
from flux_tenancy.components.installs.flux.component import FluxInstall, FluxInstallArgs
from flux_tenancy.components.plan import register_planned
from flux_tenancy.components.stack.plan import stack_plan
from flux_tenancy.components.tenant.component import Tenant, TenantArgs
from flux_tenancy.components.tenant.identity import impersonations
from flux_tenancy.components.vocabulary.manifests import name_of, resource_type

IMPERSONATION = {"Role apps/flux-impersonation", "RoleBinding apps/flux-impersonation"}
ROLES = IMPERSONATION | {"RoleBinding apps/flux-secrets", "Role apps/flux-webhooks", "RoleBinding apps/flux-webhooks"}
SYNC = "Kustomization apps/dev-team"
SOURCE = "GitRepository apps/dev-team"
CONTROLLERS = {
    f"Deployment flux-system/{name}"
    for name in ("source-controller", "kustomize-controller", "helm-controller", "notification-controller")
}


def in_state(config):
    """The rights in the tenant's namespace as an earlier update has granted them."""
    [*rights] = impersonations(config.flux, config.tenants, config.tenancy)["apps"]
    return {(resource_type(each), name_of(each)): each for each in rights}


@pytest.fixture
def registered(tmp_path):
    """The resources of a stack with one tenant, by whether the tenant's namespace already exists."""
    config = load(tmp_path, flux=FLUX, tenants={"dev-team": {"source": {"webhook": {}}}})

    def of(existing, *, settled=False):
        def program():
            plan = stack_plan(config, "staging")
            rights = plan.early_rights(existing, State(in_state(config) if settled else {}))
            early = register_planned(rights, lambda _: pulumi.ResourceOptions())
            flux = FluxInstall("flux", FluxInstallArgs(config.flux, release(), [*early.values()]))
            args = TenantArgs(plan.scopes["dev-team"], plan.tenants["dev-team"], removal(), early=early)
            Tenant("dev-team", args, pulumi.ResourceOptions(depends_on=[flux]))

        return run(program)

    return of


@pytest.mark.parametrize("existing", [[], ["apps"]], ids=["new namespace", "existing namespace"])
def test_the_source_and_the_sync_are_created_after_the_rights_that_they_need(registered, existing):
    resources = registered(existing)

    assert resources[SYNC].after >= IMPERSONATION
    assert resources[SOURCE].after >= {"RoleBinding apps/flux-secrets"}


@pytest.mark.parametrize(
    ("existing", "settled"),
    [pytest.param([], False, id="new namespace"), pytest.param(["apps"], True, id="nothing to grant")],
)
def test_rights_that_controllers_need_not_wait_for_are_granted_after_their_namespace(registered, existing, settled):
    resources = registered(existing, settled=settled)

    assert all("Namespace apps" in resources[role].after for role in ROLES)
    assert "ServiceAccount apps/dev-team" in resources["RoleBinding apps/flux-impersonation"].after
    assert not any(ROLES & resources[controller].after for controller in CONTROLLERS)


def test_in_an_existing_namespace_the_right_is_granted_before_the_controllers(registered):
    resources = registered(["apps"])

    for role in ROLES:
        assert resources[role].after <= ROLES
    for controller in CONTROLLERS:
        assert resources[controller].after >= ROLES


@pytest.mark.parametrize(
    ("kind", "change", "namespaces"),
    [
        ("Role", {}, {"apps"}),
        ("Role", {"metadata": {"annotations": {"by": "the provider"}}}, {"apps"}),
        ("Role", {"rules": []}, set()),
        ("RoleBinding", {"subjects": []}, set()),
        ("RoleBinding", None, set()),
    ],
)
def test_what_the_state_has_with_other_rights_is_not_granted_yet(tmp_path, kind, change, namespaces):
    config = load(tmp_path, flux=FLUX, tenants={"dev-team": {}})
    state = in_state(config)
    changed = next(key for key in state if key[0].endswith(f":{kind}"))
    if change is None:
        del state[changed]
    else:
        state[changed] = state[changed] | change

    early = stack_plan(config, "staging").early_rights(["apps"], State(state))
    assert {each.namespace for each in early} == {"apps"} - namespaces


def test_controllers_with_the_rights_of_the_release_need_no_impersonation_roles(tmp_path):
    config = load(tmp_path, flux=FLUX | {"controllerRights": "release"}, tenants={"dev-team": {}})

    assert impersonations(config.flux, config.tenants, config.tenancy) == {}


IDENTITIES = {
    "namespaces": [{"name": "apps"}, {"name": "apps-qa"}],
    "source": {"url": "https://git.example.com/dev-team/apps"},
    "sync": {"decryption": {"workloadIdentity": {"provider": "gcp"}}},
    "sources": {
        "charts": {
            "kind": "OCIRepository",
            "url": "oci://registry.example.com/dev-team/chart",
            "provider": "aws",
            "serviceAccountName": "puller",
        }
    },
    "tokenAccounts": ["pusher"],
}


def granted_tokens(tmp_path, version, **flux):
    """The accounts whose tokens are created by name, by namespace, and the subjects of the binding at home."""
    section = FLUX | {"version": version, "workloadIdentity": True} | flux
    providers = {"sources": {"providers": ["aws"], "allowed": ["oci://registry.example.com/*"]}}
    config = load(tmp_path, flux=section, tenants={"dev-team": IDENTITIES}, policies=providers)
    found = impersonations(config.flux, config.tenants, config.tenancy)
    all_of = [
        (namespace, each["kind"], each["metadata"]["name"], each)
        for namespace, objects in found.items()
        for each in objects
    ]
    roles = {
        namespace: rule["resourceNames"]
        for namespace, kind, name, each in all_of
        if (kind, name) == ("Role", "flux-tokens")
        for rule in each["rules"]
    }
    subjects = {
        subject["name"]
        for namespace, kind, name, each in all_of
        if (namespace, kind, name) == ("apps", "RoleBinding", "flux-tokens")
        for subject in each["subjects"]
    }
    elsewhere = [
        name
        for _, _, name, each in all_of
        for rule in each.get("rules", ())
        if "serviceaccounts/token" in rule["resources"] and name != "flux-tokens"
    ]
    return roles, subjects, elsewhere


@pytest.mark.parametrize(
    ("rights", "suffixes"),
    [("impersonate", ("-impersonator", "-restricted")), ("release", ("-controller", "-controller"))],
)
def test_flux_2_10_creates_tokens_only_of_accounts_that_are_named(tmp_path, rights, suffixes):
    """Its own roles no longer allow any, so that otherwise sources and decryption would lose their identity."""
    roles, subjects, elsewhere = granted_tokens(tmp_path, "2.10.1", controllerRights=rights)

    assert roles == {"apps": ["pusher", "puller", "dev-team-decryption"], "apps-qa": ["pusher"]}
    assert len(subjects) == 4 and all(each.endswith(suffixes) for each in subjects)
    assert elsewhere == []


def test_flux_2_9_creates_them_for_every_account_of_a_tenant(tmp_path):
    roles, subjects, elsewhere = granted_tokens(tmp_path, "2.9.6")

    assert roles == {} and "source-controller-restricted" in subjects
    assert set(elsewhere) == {"flux-impersonation"}


def test_nobody_creates_tokens_without_workload_identity(tmp_path):
    section = FLUX | {"version": "2.10.1", "controllerRights": "release"}
    config = load(tmp_path, flux=section, tenants={"dev-team": {"tokenAccounts": ["pusher"]}})

    assert impersonations(config.flux, config.tenants, config.tenancy) == {}
