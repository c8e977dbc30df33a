"""The name of a tenant's service account: the tenant's own, one for all tenants, or one of its own."""

from __future__ import annotations

import json

import pytest
from sample_plan import tenant_objects
from sample_release import arguments, release
from sample_stack import FLUX, flux_config, load, tenant_config

from flux_tenancy.components.installs.flux.profile import configured
from flux_tenancy.components.installs.kyverno import generated_by
from flux_tenancy.components.policies.kyverno_only import onboarding
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.vocabulary.names import Controller

EVERYWHERE = {"serviceAccountName": "flux"}


def made(tenancy, default_account="default", **tenant):
    config = tenant_config(namespaces=[{"name": "apps"}], **tenant)
    return tenant_objects("dev-team", config, TenancyConfig.model_validate(tenancy), default_account)


def account(objects):
    """The one account that identity, access and sync agree about."""
    [binding] = objects.access
    [name] = {
        objects.identity["metadata"]["name"],
        binding["subjects"][0]["name"],
        objects.syncs[0]["spec"]["serviceAccountName"],
    }
    return name


def annotated(objects):
    return objects.namespaces[0]["metadata"]["annotations"]


def test_a_tenant_whose_account_has_its_own_name_is_as_before():
    objects = made({})

    assert account(objects) == "dev-team"
    assert annotated(objects) == {"flux-tenancy/namespaces": "apps"}


@pytest.mark.parametrize(
    ("tenancy", "tenant", "expected"),
    [(EVERYWHERE, {}, "flux"), ({}, EVERYWHERE, "flux"), (EVERYWHERE, {"serviceAccountName": "own"}, "own")],
)
def test_another_name_is_told_to_the_policies(tenancy, tenant, expected):
    objects = made(tenancy, **tenant)

    assert account(objects) == expected
    assert annotated(objects)["flux-tenancy/service-account"] == expected
    assert "flux-tenancy/implied-service-account" not in annotated(objects)


def test_so_is_that_flux_takes_it_where_none_is_named():
    assert annotated(made(EVERYWHERE, "flux"))["flux-tenancy/implied-service-account"] == "flux"
    assert "flux-tenancy/implied-service-account" not in annotated(made({}, "flux"))


def test_flux_takes_the_account_that_the_stack_names_where_an_object_names_none():
    found = arguments(configured(release(), flux_config(defaultServiceAccount="flux")))

    for controller in (Controller.KUSTOMIZE, Controller.HELM):
        assert "--default-service-account=flux" in (found[controller.value] or ())
        assert "--default-kubeconfig-service-account=default" in (found[controller.value] or ())
    # That flag of the others is about identities in a cloud.
    assert "--default-service-account=default" in (found["source-controller"] or ())


def test_a_labelled_namespace_has_the_name_for_all_tenants():
    tenancy = TenancyConfig.model_validate(EVERYWHERE)
    flux = flux_config(defaultServiceAccount="flux")

    identity, binding, *_ = generated_by(onboarding(tenancy, flux)[1], "dev-team", "apps")

    assert identity["metadata"]["name"] == binding["subjects"][0]["name"] == "flux"
    text = json.dumps(onboarding(tenancy, flux))
    assert "flux-tenancy/service-account" in text
    assert "flux-tenancy/implied-service-account" in text
    assert "service-account'" not in json.dumps(onboarding(TenancyConfig(), flux_config()))


def test_a_plain_name_is_welcome(tmp_path):
    config = load(tmp_path, tenancy=EVERYWHERE, flux=FLUX | {"defaultServiceAccount": "flux"})

    assert config.tenancy.service_account_name == config.flux.default_service_account == "flux"
