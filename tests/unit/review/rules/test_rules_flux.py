"""The flags of the multi-tenant profile in what a stack would apply."""

from __future__ import annotations

from copy import deepcopy

import pytest
from sample_project import rendered

from flux_tenancy.components.installs.flux.lockdown_flags import LOCKDOWN_FLAGS
from flux_tenancy.components.vocabulary.names import Controller
from flux_tenancy.review.rules.flux import lockdown_flags
from flux_tenancy.review.rules.setting import RuleSetting
from tests.support.messages import values_of
from tests.support.releases import FLUX_VERSION

SETTING = RuleSetting()


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    components = [controller.value for controller in Controller if controller is not Controller.SOURCE_WATCHER]
    return rendered(tmp_path_factory.mktemp("flags") / "project", flux={"components": components}).objects


def broken(objects, controller, change, setting=SETTING):
    """Code and flag of each finding after a change of a controller's arguments."""
    changed = deepcopy(objects)
    [deployment] = [each for each in changed if each.kind == "Deployment" and each.name == controller]
    container = deployment.manifest["spec"]["template"]["spec"]["containers"][0]
    container["args"] = change(container["args"])
    found = list(lockdown_flags(changed, setting))
    assert {each.resource for each in found} <= {f"Deployment flux-system/{controller}"}
    return [(each.message.code, values_of(each.message)[0]) for each in found]


def without(name):
    return lambda arguments: [each for each in arguments if not each.startswith(f"--{name}")]


def test_a_render_of_the_profile_has_its_flags_on_every_controller_that_knows_them(objects):
    assert list(lockdown_flags(objects, SETTING)) == []
    assert {each.name for each in objects if each.kind == "Deployment"} >= {"kustomize-controller", "source-controller"}


@pytest.mark.parametrize(
    ("controller", "name"),
    sorted(
        (controller, flag.name)
        for flag in LOCKDOWN_FLAGS
        if flag.holds_for(FLUX_VERSION)
        for controller in flag.controllers
        if controller in ("helm-controller", "kustomize-controller", "notification-controller", "source-controller")
    ),
)
def test_a_controller_that_lacks_a_flag_breaks_the_rule(objects, controller, name):
    found = broken(objects, controller, without(name))

    assert found and {code for code, _ in found} == {"FT-REV-106"}
    assert all(argument.startswith(f"--{name}=") for _, argument in found)


@pytest.mark.parametrize(
    ("argument", "missing"),
    [
        ("--no-cross-namespace-refs=false", "--no-cross-namespace-refs=true"),
        ("--default-service-account=kustomize-controller", "--default-service-account=default"),
        ("--feature-gates=CancelHealthCheckOnNewRevision=false", "--feature-gates=CancelHealthCheckOnNewRevision=true"),
    ],
)
def test_the_last_value_of_a_flag_counts(objects, argument, missing):
    found = broken(objects, "kustomize-controller", lambda arguments: [*arguments, argument])

    assert ("FT-REV-106", missing) in found
    assert broken(objects, "kustomize-controller", lambda arguments: [argument, *arguments]) == []


def test_further_feature_gates_break_nothing(objects):
    def with_more(arguments):
        gates = next(each for each in arguments if each.startswith("--feature-gates="))
        return [*arguments, f"{gates},Another=true"]

    assert broken(objects, "helm-controller", with_more) == []


def test_a_flag_without_a_value_is_true(objects):
    def bare(arguments):
        return [each.removesuffix("=true") if "no-remote-bases" in each else each for each in arguments]

    assert broken(objects, "kustomize-controller", bare) == []


def test_a_flag_that_the_controller_does_not_know_breaks_the_rule(objects):
    found = broken(objects, "source-controller", lambda arguments: [*arguments, "--no-cross-namespace-refs=true"])

    assert found == [("FT-REV-107", "no-cross-namespace-refs")]


def test_a_flag_that_undoes_the_profile_breaks_the_rule(objects):
    def with_flag(argument):
        return broken(objects, "kustomize-controller", lambda arguments: [*arguments, argument])

    assert with_flag("--insecure-kubeconfig-exec=true") == [("FT-REV-108", "insecure-kubeconfig-exec")]
    assert with_flag("--insecure-kubeconfig-exec") == [("FT-REV-108", "insecure-kubeconfig-exec")]
    assert with_flag("--sops-age-secret=sops-age") == [("FT-REV-108", "sops-age-secret")]
    assert with_flag("--insecure-kubeconfig-exec=false") == []


def test_the_account_of_the_stack_is_expected(objects):
    found = list(lockdown_flags(objects, RuleSetting(default_account="flux")))

    assert {values_of(each.message)[0] for each in found} == {"--default-service-account=flux"}
    assert {each.resource for each in found} == {
        "Deployment flux-system/helm-controller",
        "Deployment flux-system/kustomize-controller",
    }


def test_the_single_tenant_profile_needs_no_flags(objects):
    assert broken(objects, "kustomize-controller", lambda _: [], RuleSetting(locked_down=False)) == []
