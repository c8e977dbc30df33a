"""Impersonation: the right to impersonate tenants is granted before syncs need it and before controllers change."""

from __future__ import annotations

import pulumi
import pytest
from recorded_program import run
from sample_release import release
from sample_stack import FLUX, load, removal

from components.flux.component import FluxInstall, FluxInstallArgs
from components.git.source import GitAccess
from components.tenant.component import Tenant, TenantArgs
from components.tenant.impersonation import Impersonation, impersonations

ROLES = {"Role apps/flux-impersonation", "RoleBinding apps/flux-impersonation"}
SYNC = "Kustomization apps/dev-team"
CONTROLLERS = {"Deployment flux-system/kustomize-controller", "Deployment flux-system/helm-controller"}


@pytest.fixture
def registered(tmp_path):
    """The resources of a stack with one tenant, by whether the tenant's namespace already exists."""
    config = load(tmp_path, flux=FLUX, tenants={"dev-team": {}})

    def of(existing):
        def program():
            impersonation = Impersonation(
                impersonations(config.flux, config.tenants, config.tenancy), existing, pulumi.ResourceOptions()
            )
            flux = FluxInstall("flux", FluxInstallArgs(config.flux, release(), impersonation.in_existing))
            access = GitAccess(known_hosts=(), github=None, webhook_url=None)
            args = TenantArgs(config.tenants["dev-team"], access, config.tenancy, *removal(), impersonation)
            Tenant("dev-team", args, pulumi.ResourceOptions(depends_on=[flux]))

        return run(program)

    return of


@pytest.mark.parametrize("existing", [[], ["apps"]])
def test_the_sync_is_created_after_the_right_to_impersonate_the_tenant(registered, existing):
    assert registered(existing)[SYNC].after >= ROLES


def test_in_a_new_namespace_the_right_is_granted_after_the_identity_and_the_controllers(registered):
    resources = registered([])

    for role in ROLES:
        assert {"Namespace apps", "ServiceAccount apps/dev-team"} <= resources[role].after
    for controller in CONTROLLERS:
        assert not ROLES & resources[controller].after


def test_in_an_existing_namespace_the_right_is_granted_before_the_controllers(registered):
    resources = registered(["apps"])

    for role in ROLES:
        assert resources[role].after == set()
    for controller in CONTROLLERS:
        assert resources[controller].after >= ROLES


def test_controllers_with_the_rights_of_the_release_need_no_impersonation_roles(tmp_path):
    config = load(tmp_path, flux=FLUX | {"controllerRights": "release"}, tenants={"dev-team": {}})

    assert impersonations(config.flux, config.tenants, config.tenancy) == {}
