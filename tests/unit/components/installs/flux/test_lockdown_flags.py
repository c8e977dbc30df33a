"""The flags of the multi-tenant profile by release, and which arguments of the user it refuses.

`tests/golden/arguments-multi-tenant.yaml` has those of each controller.
"""

import pytest

from flux_tenancy.components.installs.flux.lockdown_flags import (
    FORBIDDEN_FLAGS,
    LOCKDOWN_FLAGS,
    flags_for,
    refusal,
    unknown_to,
)
from flux_tenancy.components.vocabulary.names import Controller

OF_LOCKDOWN = {flag.name for flag in LOCKDOWN_FLAGS}
CLOSED_TO_THE_OPERATOR = OF_LOCKDOWN - {"feature-gates"} | set(FORBIDDEN_FLAGS)
GATE = "--feature-gates=ObjectLevelWorkloadIdentity=true"
OLD, NEW = "2.9.6", "2.10.1"


@pytest.mark.parametrize("controller", list(Controller))
def test_controllers_of_flux_2_10_have_no_retired_gate_and_source_watcher_has_a_default_account(controller):
    old, new = ({flag.argument for flag in flags_for(controller, version)} for version in (OLD, NEW))

    assert old - new == ({GATE} if controller is not Controller.SOURCE_WATCHER else set())
    assert new - old == ({"--default-service-account=default"} if controller is Controller.SOURCE_WATCHER else set())


def test_a_release_that_is_accepted_without_a_review_has_the_flags_of_the_newest_reviewed_one():
    assert flags_for(Controller.SOURCE, "2.11.0") == flags_for(Controller.SOURCE, NEW)


@pytest.mark.parametrize("controller", list(Controller))
def test_feature_gates_are_a_flag_of_every_controller(controller):
    """Though the profile sets none on some."""
    assert "feature-gates" not in unknown_to(controller, NEW)


@pytest.mark.parametrize("name", sorted(CLOSED_TO_THE_OPERATOR))
@pytest.mark.parametrize("form", ["--{}", "--{}=", "--{}=false", "--{}=true"])
def test_extra_arguments_must_not_set_flags_of_the_lockdown_in_any_form(name, form):
    controller = next(flag.controllers for flag in LOCKDOWN_FLAGS if flag.name == name) if name in OF_LOCKDOWN else ()
    reason = refusal(next(iter(controller), Controller.HELM), form.format(name), OLD)

    assert reason is not None
    assert reason.code in ("FT-CFG-402", "FT-CFG-310")
    assert f"--{name}" in reason


@pytest.mark.parametrize(
    "argument",
    ["--concurrent=8", "--feature-gates=OOMWatch=true", "--no-remote-bases-at-all=true", "--log-level=debug"],
)
def test_other_extra_arguments_are_allowed(argument):
    assert refusal(Controller.KUSTOMIZE, argument, OLD) is None


def test_where_a_controller_sends_its_events_is_no_flag_of_the_lockdown():
    assert refusal(Controller.HELM, "--events-addr=http://events.example.com", OLD) is None
    assert refusal(Controller.NOTIFICATION, "--events-addr=:9090", OLD) is not None


def test_a_flag_of_the_lockdown_is_refused_for_controllers_that_do_not_know_it():
    assert refusal(Controller.SOURCE, "--no-remote-bases=true", OLD) is not None
