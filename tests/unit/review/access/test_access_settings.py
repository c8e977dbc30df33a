"""Settings of admission policies as data beside a render: what nobody has words for, and what cannot be read."""

from __future__ import annotations

import json
from copy import deepcopy

import pytest
from sample_access import TENANTS, edited, render, sentences
from sample_project import rendered, tenant

from flux_tenancy.components.config.allowances import Allows, Bounds
from flux_tenancy.components.policies.config import PoliciesConfig
from flux_tenancy.components.policies.table import policies
from flux_tenancy.review.access.policy_settings import told_settings, values_of
from flux_tenancy.review.render.rendered import Render
from flux_tenancy.review.render.settings import AdmissionSettings

GRANT = {"reason": "PLAT-231", "serviceTypes": ["NodePort"], "exceptions": [{"policy": "allowed-images"}]}


def settings_of(found: Render) -> AdmissionSettings:
    """The settings, which every render of this program has."""
    assert found.settings is not None
    return found.settings


def with_setting(before: Render, section: str, **values: object) -> Render:
    """A render of a program that has these settings, too."""
    stack = deepcopy(dict(settings_of(before).stack))
    stack[section] |= values
    settings = settings_of(before).model_copy(update={"stack": stack})
    return Render(before.stack, before.objects, before.digest, settings)


def test_a_setting_without_words_is_told_with_its_values():
    signed = {
        "images": {
            "signatures": [
                {"images": ["registry.example.com/*"], "keyless": {"issuer": "https://a.example.com", "subject": "s"}}
            ]
        }
    }
    tools = {"images": {"registries": {"secrets": ["pull"]}}}

    [said] = sentences(render(), render(policies=signed))
    assert said.startswith('+! The setting policies.images.signatures is now [{"images": ["registry.example.com/*"], ')
    assert said.endswith(" (before: []) on production")
    assert sentences(render(), render(policies=tools)) == [
        '+! The setting policies.images.registries.secrets is now ["pull"] (before: []) on production'
    ]


def test_a_setting_of_tenancy_that_policies_read_is_told():
    assert "+! The setting tenancy.mode is now capsule (before: namespaces) on production" in sentences(
        render(), render(tenancy={"mode": "capsule"})
    )


def test_a_setting_of_another_version_of_the_program_is_told():
    base = render()
    further = with_setting(base, "policies", further={"most": 5})

    assert sentences(base, further) == ["+! The setting policies.further.most is now 5 (before: not set) on production"]
    assert sentences(further, base) == ["+! The setting policies.further.most is no longer 5 on production"]


def test_settings_that_this_program_cannot_read_are_told_as_they_are():
    base = with_setting(render(), "policies", maximumTimeout=["1h"])
    edit = edited(base, "node-placement", "ValidatingAdmissionPolicy", lambda spec: spec["matchConditions"].clear())

    assert sentences(edit, render(policies={"nodeNames": True})) == [
        "+! Policy node-placement checks requests in another way (its CEL is in the diff) for all tenants on "
        "production",
        '+! The setting policies.maximumTimeout is now 1h (before: ["1h"]) on production',
        "+! The setting policies.nodeNames is now true (before: false) on production",
    ]


def test_a_list_of_a_namespace_without_words_is_told():
    base, listed = render(), render()
    lists = {"apps": {"flux-tenancy/further": ("one",)}}
    settings = settings_of(listed).model_copy(update={"namespaces": lists})

    assert sentences(base, Render(listed.stack, listed.objects, "", settings)) == [
        '+! dev-team has the setting flux-tenancy/further, now ["one"] (before: not set), in apps on production'
    ]


def test_without_the_settings_before_only_modes_are_compared():
    base = render()
    earlier = Render(base.stack, base.objects, "")

    assert sentences(earlier, render(policies={"nodeNames": True, "modes": {"host-access": "off"}})) == [
        "+! Policy host-access is no longer in force for any tenant on production"
    ]


@pytest.mark.parametrize(
    "sections",
    [{}, {"policies": {"storageClasses": ["fast"], "sources": {"allowed": ["*"]}}}, {"grants": [GRANT]}],
    ids=["default", "settings", "grants"],
)
def test_what_this_program_renders_has_no_other_checks(tmp_path, sections):
    """Policies of the merge base are compared with what this program makes of its settings."""
    tenants = {"dev-team": tenant("dev-team", "apps") | {key: sections[key] for key in ("grants",) if key in sections}}
    found = rendered(
        tmp_path / "project", tenants=tenants, policies=sections.get("policies", {"sources": {"allowed": ["*"]}})
    )

    assert settings_of(found).namespaces["apps"].keys() == (
        {"flux-tenancy/service-types", "flux-tenancy/exceptions"} if "grants" in sections else set()
    )
    assert sentences(found, found) == []


def test_settings_survive_the_way_between_processes_and_are_not_in_the_digest():
    given = render(TENANTS | {"dev-team": {"grants": [GRANT]}})
    settings = AdmissionSettings.model_validate(json.loads(json.dumps(settings_of(given).model_dump(mode="json"))))

    assert settings == given.settings
    assert Render.of("a", given.objects, settings).digest == Render.of("a", given.objects).digest


def test_every_setting_that_a_policy_reads_is_in_the_settings_of_a_render():
    named = {key for each in policies(PoliciesConfig()) for key in each.settings if not key.startswith("tenant: ")}

    # Freezes are in the annotations of namespaces, of which `risks.yaml` tells.
    assert named - {"tenancy.freeze"} <= values_of(settings_of(render()).stack).keys()


def test_every_setting_with_words_belongs_to_a_policy():
    worded = [
        name
        for name, field in PoliciesConfig.model_fields.items()
        if any(isinstance(each, Allows | Bounds) for each in field.metadata)
    ]

    assert {f"policies.{PoliciesConfig.model_fields[name].alias}" for name in worded} <= {
        each.key for each in told_settings()
    }
