"""Freezes: how their times are written, whom they hold, and what is said of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import yaml
from pydantic import ValidationError
from sample_stack import FLUX, load, problems

from flux_tenancy.components.policies.config import PolicyEngine
from flux_tenancy.components.stack.checks import policies as checks
from flux_tenancy.components.stack.checks.policies import freeze_warnings
from flux_tenancy.components.stack.plan import stack_plan
from flux_tenancy.components.stack.platform import enabled_policies
from flux_tenancy.components.tenant.annotations import EXCEPTIONS, FREEZES
from flux_tenancy.components.tenant.freezes import Freeze, InForce, freeze_in_force

FREEZE = {"from": "2026-12-24T18:00:00+01:00", "to": "2026-12-27T06:00:00Z", "reason": "holidays of the\nteam"}
LINE = "2026-12-24T17:00:00Z 2026-12-27T06:00:00Z holidays of the team"
LATER = {"from": "2026-12-26T00:00:00Z", "to": "2027-01-02T00:00Z", "reason": "inventory"}
PAST = {"from": "2021-01-01T00:00Z", "to": "2021-01-02T00:00Z", "reason": "a move"}
DURING = datetime(2026, 12, 25, tzinfo=UTC)


def frozen(*freezes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"dev-team": {"freeze": list(freezes), **more}}


def annotation(config: Any) -> Any:
    [namespace] = [each for each in stack_plan(config, "staging").tenants["dev-team"] if each.kind == "Namespace"]
    return namespace.manifest["metadata"]["annotations"].get(FREEZES)


def has_policy(config: Any) -> bool:
    found = enabled_policies(config, PolicyEngine.NATIVE, ())
    return any(each["metadata"]["name"] == "flux-tenancy-freeze" for each in found.manifests)


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        ({"tenants": frozen()}, None),
        ({"tenants": frozen(FREEZE)}, LINE),
        ({"tenancy": {"freeze": [FREEZE]}}, LINE),
        ({"tenancy": {"freeze": [FREEZE | {"except": ["dev-team"]}]}}, None),
        ({"tenancy": {"freeze": [FREEZE | {"except": ["dev-team"]}]}, "tenants": frozen(FREEZE)}, LINE),
        # The one that ends last is the first, so that a refusal names the time from which changes pass.
        (
            {"tenancy": {"freeze": [FREEZE]}, "tenants": frozen(LATER)},
            f"2026-12-26T00:00:00Z 2027-01-02T00:00:00Z inventory\n{LINE}",
        ),
        # The plan does not depend on the time of the update.
        ({"tenants": frozen(PAST)}, "2021-01-01T00:00:00Z 2021-01-02T00:00:00Z a move"),
        # Nothing would end before the freeze does.
        ({"tenancy": {"freeze": [FREEZE]}, "tenants": frozen(FREEZE, state="leaving")}, None),
    ],
)
def test_a_tenants_namespace_has_its_freezes_and_the_stack_the_policy(tmp_path, sections, expected):
    config = load(tmp_path, **{"tenants": frozen(), **sections})

    assert annotation(config) == expected
    assert has_policy(config) is (expected is not None)


REFUSED = (
    ("from", "2026-12-24T18:00:00", "is not a time with its zone; write it like 2026-12-24T18:00:00Z for UTC, or"),
    ("from", "2026-12-24", "is not a time; write it like"),
    ("from", "2026-13-24T18:00:00Z", "is not a time"),
    ("from", "2026-12-24T18:00:00 Europe/Berlin", "is not a time"),
    # What Pulumi makes of a time without quotes: a missing zone looks like UTC.
    ("from", "2026-12-24 18:00:00 +0000 UTC", "is not a time; write it like"),
    ("to", "2026-12-24T18:00:00+01:00", "is not after `from`"),
    ("to", "2026-12-24T16:59:59Z", "is not after `from`"),
    ("reason", " ", "must not be empty"),
)


@pytest.mark.parametrize(("key", "value", "said"), REFUSED)
def test_an_error_names_the_key_and_what_to_write(tmp_path, key, value, said):
    [problem] = problems(tmp_path, tenants=frozen(FREEZE | {key: value}))

    assert problem.startswith(f"Pulumi.staging.yaml: tenants.dev-team.freeze[0].{key}: ")
    assert said in problem


@pytest.mark.parametrize("written", ["2026-12-24T18:00:00", "2026-12-24T18:00:00Z", "2026-12-24 18:00:00+01:00"])
def test_a_time_of_a_tenants_file_has_quotes_too(written):
    with pytest.raises(ValidationError, match="in quotes"):
        Freeze.model_validate(yaml.safe_load(f"{{from: {written}, to: '2027-01-01T00:00:00Z', reason: holidays}}"))


def test_a_freeze_of_the_stack_leaves_out_only_its_tenants(tmp_path):
    [problem] = problems(tmp_path, tenancy={"freeze": [FREEZE | {"except": ["dev-team", "sho"]}]}, tenants=frozen())

    assert problem == (
        "Pulumi.staging.yaml: tenancy.freeze[0].except[1]: 'sho' is not a tenant of this stack; "
        "choose one of these: dev-team"
    )


@pytest.mark.parametrize("policies", [{"engine": "none"}, {"modes": {"freeze": "off"}}])
def test_a_freeze_without_the_policy_would_hold_nobody(tmp_path, policies):
    found = problems(tmp_path, policies=policies, tenancy={"freeze": [FREEZE]}, tenants=frozen(LATER))

    assert [problem.partition("has no effect")[0] for problem in found] == [
        "Pulumi.staging.yaml: tenancy.freeze[0]: ",
        "Pulumi.staging.yaml: tenants.dev-team.freeze[0]: ",
    ]


@pytest.mark.parametrize("argument", ["--enable-leader-election=false", "--watch-label-selector=a=b"])
def test_a_freeze_needs_the_lease_of_kustomize_controller(tmp_path, argument):
    flux = FLUX | {"extraArgs": {"kustomize-controller": [argument]}}

    [problem] = problems(tmp_path, flux=flux, tenants=frozen(FREEZE))

    assert problem.startswith("Pulumi.staging.yaml: flux.extraArgs.kustomize-controller: sets one of")
    assert not load(tmp_path, flux=flux, tenants=frozen()).has_freezes


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ("2026-12-24T16:59:59Z", None),
        (
            "2026-12-24T17:00:00Z",
            "tenancy.freeze[0] (holidays of the team) holds the changes of dev-team until 2026-12-27T06:00:00Z; for a "
            "change that cannot wait, grant the tenant an exception from the policy freeze",
        ),
        ("2026-12-27T05:59:59Z", "tenancy.freeze[0] (holidays of the team) holds"),
        ("2026-12-27T06:00:00Z", "tenancy.freeze[0] (holidays of the team) ended at 2026-12-27T06:00:00Z; remove it"),
    ],
)
def test_a_preview_says_what_is_frozen_and_what_has_ended(tmp_path, monkeypatch, now, said):
    monkeypatch.setattr(checks, "now", lambda: datetime.fromisoformat(now))
    config = load(tmp_path, tenancy={"freeze": [FREEZE]}, tenants=frozen())

    warnings = list(freeze_warnings(config))

    assert [warning.startswith(said or "") for warning in warnings] == ([True] if said else [])


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, None),
        ({FREEZES: LINE}, InForce("2026-12-27T06:00:00Z", "holidays of the team")),
        ({FREEZES: LINE, EXCEPTIONS: "node-placement"}, InForce("2026-12-27T06:00:00Z", "holidays of the team")),
        ({FREEZES: LINE, EXCEPTIONS: "node-placement freeze"}, None),
        ({FREEZES: "2026-12-26T00:00:00Z 2026-12-28T00:00:00Z later\n" + LINE}, InForce(LINE[21:41], LINE[42:])),
        ({FREEZES: "2026-12-26T00:00:00Z 2026-12-28T00:00:00Z later"}, None),
        ({FREEZES: "something else"}, None),
    ],
)
def test_the_freeze_in_force_is_read_from_a_namespace(annotations, expected):
    assert freeze_in_force(annotations, DURING) == expected


@pytest.mark.parametrize(
    ("at", "frozen"),
    [
        ("2026-12-24T16:59:59Z", False),
        ("2026-12-24T18:00:00+01:00", True),
        ("2026-12-27T05:59:59Z", True),
        ("2026-12-27T06:00:00Z", False),
    ],
)
def test_a_freeze_ends_at_its_end(at, frozen):
    assert (freeze_in_force({FREEZES: LINE}, datetime.fromisoformat(at)) is not None) is frozen
