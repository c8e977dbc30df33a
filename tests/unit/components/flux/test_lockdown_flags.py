"""The flags of the multi-tenant profile by controller: the arguments that each one is started with."""

import pytest

from components.flux.config_wordings import FLAG_OF_PROFILE, FORBIDDEN_FLAG
from components.flux.controllers import Controller
from components.flux.lockdown_flags import FORBIDDEN_FLAGS, LOCKDOWN_FLAGS, flags_for, refusal

CLOSED_TO_THE_OPERATOR = {flag.name for flag in LOCKDOWN_FLAGS} - {"feature-gates"} | set(FORBIDDEN_FLAGS)
GATE = "--feature-gates=ObjectLevelWorkloadIdentity=true"
CANCEL = "--feature-gates=CancelHealthCheckOnNewRevision=true"


@pytest.mark.parametrize(
    ("controller", "arguments"),
    [
        (Controller.SOURCE, {"--default-service-account=default", GATE}),
        (
            Controller.KUSTOMIZE,
            {
                "--no-cross-namespace-refs=true",
                "--no-remote-bases=true",
                "--default-service-account=default",
                "--default-decryption-service-account=default",
                "--default-kubeconfig-service-account=default",
                GATE,
                CANCEL,
            },
        ),
        (
            Controller.HELM,
            {
                "--no-cross-namespace-refs=true",
                "--default-service-account=default",
                "--default-kubeconfig-service-account=default",
                GATE,
                CANCEL,
            },
        ),
        (Controller.NOTIFICATION, {"--no-cross-namespace-refs=true", "--default-service-account=default", GATE}),
        (Controller.IMAGE_REFLECTOR, {"--no-cross-namespace-refs=true", "--default-service-account=default", GATE}),
        (Controller.IMAGE_AUTOMATION, {"--no-cross-namespace-refs=true", "--default-service-account=default", GATE}),
        (Controller.SOURCE_WATCHER, {"--no-cross-namespace-refs=true"}),
    ],
)
def test_each_controller_of_flux_2_9_gets_exactly_the_flags_that_it_supports(controller, arguments):
    given = [flag.argument for flag in flags_for(controller)]

    assert len(given) == len(set(given))
    assert set(given) == arguments


@pytest.mark.parametrize("name", sorted(CLOSED_TO_THE_OPERATOR))
@pytest.mark.parametrize("form", ["--{}", "--{}=", "--{}=false", "--{}=true"])
def test_extra_arguments_must_not_set_flags_of_the_lockdown_in_any_form(name, form):
    reason = refusal(form.format(name))

    assert reason is not None
    assert reason.code in (FLAG_OF_PROFILE.code, FORBIDDEN_FLAG.code)
    assert reason.fields["flag"] == name


@pytest.mark.parametrize(
    "argument",
    ["--concurrent=8", "--feature-gates=OOMWatch=true", "--no-remote-bases-at-all=true", "--log-level=debug"],
)
def test_other_extra_arguments_are_allowed(argument):
    assert refusal(argument) is None
