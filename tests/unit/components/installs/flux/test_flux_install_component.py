"""FluxInstall: namespaces, definitions, access and controllers, each created after its dependencies."""

from typing import Any

import pulumi
import pytest
from recorded_program import run
from sample_release import release
from sample_stack import FLUX, flux_config

from flux_tenancy.components.installs.flux.component import FluxInstall, FluxInstallArgs

NAMESPACES = {"Namespace flux-system"}
DEFINITIONS = {
    "CustomResourceDefinition gitrepositories.source.toolkit.fluxcd.io",
    "CustomResourceDefinition imagepolicies.image.toolkit.fluxcd.io",
}


def installed(**flux):
    return run(lambda: FluxInstall("flux", FluxInstallArgs(flux_config(**flux), release())) and None)


def of_type(resources, *ends):
    return {name for name, resource in resources.items() if resource.type.endswith(ends)}


def test_namespaces_definitions_access_and_controllers_are_created_in_this_order():
    resources = installed()
    controllers = of_type(resources, ":Deployment")
    # Created by the program itself; the Secret contains the names of the Services.
    names = {name for name in resources if "/artifact" in name}
    assert names and all(resources.pop(name).after >= NAMESPACES for name in names)
    access = set(resources) - NAMESPACES - DEFINITIONS - controllers - {"FluxInstall flux"}

    assert {"ClusterRole controllers", "ClusterRoleBinding controllers"} <= access
    assert {name: resource.after for name, resource in resources.items()} == {
        "FluxInstall flux": set(),
        **dict.fromkeys(NAMESPACES, set()),
        **dict.fromkeys(DEFINITIONS, NAMESPACES),
        **dict.fromkeys(access, NAMESPACES | DEFINITIONS),
        **dict.fromkeys(controllers, access | names),
    }


def test_every_object_of_the_release_is_registered_under_the_component():
    resources = installed(controllerRights="release")
    parents = {name: resource.parent for name, resource in resources.items()}

    assert len([name for name in resources if "/artifact" not in name]) == len(release()) + 1
    assert parents.pop("FluxInstall flux").startswith("Stack ")
    assert set(parents.values()) == {"FluxInstall flux"}


def arguments_of(name, **flux):
    [container] = installed(**flux)[f"Deployment flux-system/{name}"].properties["spec"]["template"]["spec"][
        "containers"
    ]
    return container["args"]


def test_the_registered_objects_are_locked_down_and_those_of_a_single_tenant_as_released():
    assert "--no-cross-namespace-refs=true" in arguments_of("kustomize-controller")
    assert arguments_of("helm-controller", profile="single-tenant") == ["--log-level=info"]


@pytest.mark.parametrize("flux", [{}, {"controllerRights": "release"}, {"profile": "single-tenant"}])
def test_resources_that_depend_on_the_last_objects_come_after_all_of_flux(flux: dict[str, Any]) -> None:
    def program() -> None:
        install = FluxInstall("flux", FluxInstallArgs(flux_config(**flux), release()))
        opts = pulumi.ResourceOptions(depends_on=install.last)
        pulumi.CustomResource("kubernetes:core/v1:ConfigMap", "later", {}, opts)

    resources = run(program)
    found, before = set[str](), {"ConfigMap later"}
    while before:
        found |= before
        before = {each for name in before for each in resources[name].after} - found

    assert found == set(resources) - {"FluxInstall flux"}
    assert len(resources["ConfigMap later"].after) <= len(of_type(resources, ":Deployment"))


def test_the_installed_version_and_profile_are_attributes():
    found: dict[str, Any] = {}

    def program():
        flux = FluxInstall("flux", FluxInstallArgs(flux_config(profile="single-tenant"), release()))
        return pulumi.Output.all(version=flux.version, profile=flux.profile).apply(found.update)

    run(program)

    assert found == {"version": FLUX["version"], "profile": "single-tenant"}
