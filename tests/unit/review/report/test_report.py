"""What a report says of a change: everything once."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console
from sample_objects import kubernetes
from sample_reports import compared, report, side, waived_and_violated

from flux_tenancy.components.vocabulary.manifests import RBAC_API
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.review.changes.keys import key_changes
from flux_tenancy.review.changes.objects import Action
from flux_tenancy.review.render.facts import Written
from flux_tenancy.review.render.rendered import PLATFORM
from flux_tenancy.review.report.comparison import same_cluster, stack_report
from flux_tenancy.review.report.json_report import as_json
from flux_tenancy.review.report.markdown import as_markdown
from flux_tenancy.review.report.terminal import as_text
from flux_tenancy.review.words import Statement


def sync(tenant="dev-team", **spec):
    return kubernetes(
        "Kustomization", tenant, tenant, tenant, spec={"prune": False, "serviceAccountName": tenant} | spec
    )


def config(tenant):
    return kubernetes("ConfigMap", tenant, tenant, tenant)


def both(before, after):
    """The same change in staging and production."""
    return report(*(compared(before, after, stack) for stack in ("production", "staging")))


def saying(statement, *stacks):
    return report(*(replace(compared(side(), side(), stack), said=(statement,)) for stack in stacks))


def secure(value):
    return {"dev-team": {"source": {"deployKey": {"secure": value}}}}


@pytest.mark.parametrize(
    ("before", "after", "headline"),
    [
        (side(config("a")), side(config("a"), config("b")), "1 tenant onboarded"),
        (side(config("a")), side(config("a"), config("b"), config("c")), "2 tenants onboarded"),
        (side(config("a"), config("b")), side(config("a")), "1 tenant offboarded"),
        (side(sync(x=1)), side(sync(x=2)), "1 object changed"),
        (side(sync(x=1)), side(sync(x=2), kubernetes("Role", "a")), "1 object added, 1 object changed"),
        (side(sync(), kubernetes("Role", "a")), side(sync()), "1 object removed"),
        (side(sync()), side(sync()), "No applied object changes"),
        (
            side(kubernetes("Role", "a")),
            side(kubernetes("Role", "a", metadata={"labels": {"team": "b"}})),
            "Only labels and annotations change",
        ),
        (side(flux={"version": "2.9.4"}), side(flux={"version": "2.9.5"}), "Flux upgraded to 2.9.5"),
        (side(flux={"version": "2.9.5"}), side(flux={"version": "2.9.4"}), "Flux is downgraded to 2.9.4"),
        (side(), side(kyverno={"version": "1.19.1"}), "Kyverno installed"),
        (side(kyverno={"version": "1.19.1"}), side(), "Kyverno removed"),
        (
            side(flux={"version": "2.9.5", "sha256": "a"}),
            side(flux={"version": "2.9.5", "sha256": "b"}),
            "Flux has the same version, but another digest",
        ),
        (
            side(flux={"version": "2.9.4", "sha256": "a" * 64}),
            side(flux={"version": "2.9.5", "sha256": "a" * 64}),
            "Flux has another version, but the same digest",
        ),
        (side(tenants=secure("a")), side(tenants=secure("b")), "1 secret rotated"),
        (
            side(sync(prune=True, path="a")),
            side(sync(prune=True, path="b")),
            "dev-team syncs from another path (b): Flux deletes the applied objects that are missing there",
        ),
        (
            side(sync(prune=True, path="a", force=False)),
            side(sync(prune=True, path="b", force=True), config("a")),
            "dev-team syncs from another path (b): Flux deletes the applied objects that are missing there, 1 more "
            "risk, 1 tenant onboarded",
        ),
        (
            side(kubernetes("Namespace", "a"), sync()),
            side(sync()),
            "1 deletion needs an acknowledgement",
        ),
    ],
)
def test_the_headline_says_what_matters_most(before, after, headline):
    assert report(compared(before, after)).headline == headline


def test_the_same_change_of_several_stacks_is_one_entry_and_counts_once():
    found = both(side(sync(x=1)), side(sync(x=2)))

    assert found.headline == "1 object changed"
    assert both(side(config("a")), side(config("a"), config("b"))).headline == "1 tenant onboarded"
    [section] = found.sections
    [group] = section.groups
    assert (section.owners, group.stacks) == (("dev-team",), ("production", "staging"))
    assert [(each.action, each.label) for each in group.entries] == [
        (Action.CHANGED, "Kustomization dev-team/dev-team")
    ]


def test_other_changes_of_the_same_object_are_entries_of_their_stacks():
    [section] = report(
        compared(side(sync(x=1)), side(sync(x=2)), "production"), compared(side(sync(x=1)), side(sync(x=3)), "staging")
    ).sections

    assert [group.stacks for group in section.groups] == [("production",), ("staging",)]


LONG = "x\n" * 100


@pytest.mark.parametrize(
    ("before", "after", "sections"),
    [
        ({"a": 1, "b": 1, "c": 1}, {"a": 2, "b": 2, "c": 2}, [("a", "b", "c")]),
        ({"a": 1, "b": 1}, {"a": 2, "b": 3}, [("a",), ("b",)]),
        ({"a": LONG, "b": LONG}, {"a": f"{LONG}a", "b": f"{LONG}b"}, [("a",), ("b",)]),
        ({"a": 1, PLATFORM: 1}, {"a": 2, PLATFORM: 2}, [(PLATFORM,), ("a",)]),
    ],
    ids=["the same change", "different changes", "changes that only look alike", "the platform first and alone"],
)
def test_tenants_with_the_same_change_are_one_section(before, after, sections):
    old, new = (side(*(sync(name, x=value) for name, value in each.items())) for each in (before, after))

    assert [section.owners for section in report(compared(old, new)).sections] == sections


def binding(tenant, role, group="ops"):
    """A binding of a tenant's account, and of a group."""
    subjects = [{"kind": "ServiceAccount", "name": tenant, "namespace": tenant}, {"kind": "Group", "name": group}]
    metadata = {"labels": {TENANT_LABEL: tenant}}
    ref = {"kind": "ClusterRole", "name": role}
    return kubernetes(
        "RoleBinding", f"{tenant}-reconciler", tenant, tenant, metadata=metadata, roleRef=ref, subjects=subjects
    )


@pytest.mark.parametrize(
    ("before", "after", "are_alike"),
    [
        (None, lambda name: binding(name, "edit"), True),
        (None, lambda name: binding(name, name), False),
        (None, lambda name: binding(name, "edit", name), False),
        (lambda name: binding(name, "edit"), lambda name: binding(name, name), False),
        (lambda name: sync(name, path="."), lambda name: sync(name, path=name), False),
        (lambda name: sync(name, targetNamespace="x"), lambda name: sync(name, targetNamespace=name), True),
    ],
    ids=["names", "role", "group", "changed role", "path", "place"],
)
def test_a_value_that_equals_the_name_of_its_tenant_does_not_make_changes_alike(before, after, are_alike):
    names = ("admin", "view")
    old, new = (
        side(*(each(name) for name in names)) if each else side(*(config(name) for name in names))
        for each in (before, after)
    )

    entries = [
        entry for section in report(compared(old, new)).sections for group in section.groups for entry in group.entries
    ]

    assert sum(len(each.names) == 2 for each in entries if each.action is not Action.REMOVED) == are_alike


def test_a_right_that_equals_the_name_of_its_tenant_does_not_make_sentences_alike():
    words = ("{0} has the role {0} in {0}", "{0} has the role edit in {0}", "the secret tenants.{0}.key is rotated")
    said = [Statement(name, each.format(name), names_owner=True) for each in words for name in ("admin", "view")]

    [*sections] = report(replace(compared(side(), side()), said=tuple(said))).sections

    assert [[each.text for each in section.groups[0].said] for section in sections] == [
        ["admin has the role admin in admin"],
        ["<tenant> has the role edit in <tenant>", "the secret tenants.<tenant>.key is rotated"],
        ["view has the role view in view"],
    ]


def test_a_key_that_equals_the_name_of_its_tenant_does_not_make_keys_alike():
    before, after = (
        Written(
            "Pulumi.staging.yaml", {"tenants": {name: {"role": role(name), "path": path} for name in ("admin", "view")}}
        )
        for role, path in ((lambda _: "edit", "a"), (lambda name: name, "b"))
    )

    sections = report(replace(compared(side(), side()), keys=key_changes(before, after))).sections

    assert [section.owners for section in sections] == [("admin",), ("admin", "view"), ("view",)]


def test_a_statement_of_several_stacks_or_tenants_is_one_risk():
    [of_stacks] = saying(Statement("dev-team", "may do more", risk=True), "production", "staging").risks
    several = tuple(Statement(name, "may do more", risk=True) for name in ("a", "b"))
    [of_tenants] = report(replace(compared(side(), side()), said=several)).risks

    assert (of_stacks.owners, of_stacks.stacks, of_stacks.text) == (
        ("dev-team",),
        ("production", "staging"),
        "may do more",
    )
    assert of_tenants.owners == ("a", "b")


def test_a_statement_that_is_no_risk_is_in_the_section_of_its_owner():
    found = saying(Statement("dev-team", "may do less"), "staging")

    [section] = found.sections
    assert found.risks == ()
    assert [said.text for said in section.groups[0].said] == ["may do less"]


def test_refusals_are_the_first_risks():
    role = {"kind": "ClusterRole", "name": "cluster-admin"}
    binding = kubernetes(
        "ClusterRoleBinding", "a", api=RBAC_API, roleRef=role, subjects=[{"kind": "User", "name": "eve"}]
    )

    stack = stack_report("staging", side(), side(binding), (Statement("dev-team", "is refused", risk=True),))

    refusal, access = report(stack).risks
    assert refusal.text == "is refused" and access.text.startswith("user eve may now do everything")


def test_a_deletion_is_in_the_section_of_its_owner_once_it_is_acknowledged():
    before, after = side(kubernetes("Namespace", "a")), side()
    asked = report(compared(before, after))
    [missing] = asked.missing_acknowledgements
    acknowledged = compared(before, side(review={"acknowledge": [missing.token]}))
    shared = replace(after, file=replace(after.file, shared=((("review", "acknowledge"), [missing.token]),)))

    assert not asked.sections[0].groups[0].said
    found = report(acknowledged)
    assert found.missing_acknowledgements == report(compared(before, shared)).missing_acknowledgements == ()
    assert found.sections[0].groups[0].said[0].text.startswith("everything in namespace a is deleted")
    assert acknowledged.unused == ()
    assert compared(side(), side(review={"acknowledge": ["a:0"]})).unused == ("a:0",)


def test_a_copied_secret_is_a_risk():
    found = report(compared(side(tenants=secure("a")), side(tenants=secure("a"), flux={"x": {"secure": "a"}})))

    [risk] = found.risks
    assert risk.text.startswith("the secret flux.x is new: it is the value of tenants.dev-team.source.deployKey, which")


@pytest.mark.parametrize(("stack", "is_risk"), [("production", True), ("staging", False)])
def test_the_file_of_a_production_stack_that_goes_is_a_risk(stack, is_risk):
    found = report(compared(side(config("a")), None, stack))

    assert [each.text.startswith("has no file of this production stack any more") for each in found.risks] == (
        [True] if is_risk else []
    )


@pytest.mark.parametrize(
    ("own", "other", "is_same"),
    [
        ({"uid": "1", "context": "a"}, {"uid": "1", "context": "b"}, True),
        ({"context": "a"}, {"context": "a"}, True),
        ({"context": "a"}, {"context": "b"}, False),
        ({}, {}, False),
    ],
)
def test_a_new_stack_for_the_cluster_of_another_is_recognized(own, other, is_same):
    new, production = (side(kubernetes("Cluster", "cluster", properties=each)) for each in (own, other))

    assert same_cluster(new, {"production": production.render}) == (["production"] if is_same else [])


def test_a_stack_that_is_gone_deletes_nothing_and_a_new_one_onboards_nobody():
    gone, new = compared(side(kubernetes("Namespace", "a")), None), compared(None, side(sync(), tenants=secure("a")))

    assert gone.is_gone and new.is_new
    assert (gone.digest, gone.deletions, gone.changes) == ("", (), ())
    assert (new.onboarded, new.secrets, len(new.changes)) == ((), (), 1)


def printed(found):
    file = io.StringIO()
    Console(file=file, width=160, force_terminal=False).print(as_text(found), soft_wrap=True)
    return file.getvalue()


def sample(findings=()):
    before = side(kubernetes("Role", "a", x=1), kubernetes("Namespace", "apps"), flux={"version": "2.9.4"})
    after = side(kubernetes("Role", "a", x=2), kubernetes("Role", "b"), flux={"version": "2.9.5"})
    access = (Statement("dev-team", "may do [bold]more", risk=True),)
    return report(replace(compared(before, after), said=access, findings=findings))


def test_the_text_has_everything_in_the_order_of_its_weight():
    text = printed(sample(waived_and_violated("They leave")))

    parts = [
        "dev-team may do [bold]more, ",
        "1 deletion needs an acknowledgement",
        "Tenant dev-team on staging needs an acknowledgement",
        "review.acknowledge in Pulumi.staging.yaml",
        "Risks on staging\n  - dev-team may do [bold]more",
        "Violations of the review rules on staging\n  - no-policy-engine: policies.engine is none",
        "Waivers on staging\n  - admin-binding of tenant dev-team: RoleBinding apps/admin grants a",
        "Flux on staging: 2.9.4",
        "https://github.com/fluxcd/flux2/releases/tag/v2.9.5",
        "on staging: 1 object added, 1 changed, 1 removed",
        "    + Role b",
        "    - Namespace apps",
        "    - x: 1\n    + x: 2",
        "flux-tenancy up --stack staging --approved sha256:",
    ]
    places = [text.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


def test_access_is_a_table_of_who_what_and_where():
    cells = [(name, "gains the role view", f"in {name}") for name in ("a", "b")]
    rows = [Statement(row[0], " ".join(row), names_owner=True, access=row) for row in cells]
    found = report(replace(compared(side(), side()), said=tuple(rows)))

    [line] = [line for line in printed(found).splitlines() if "the role view" in line]
    assert line.split("  ") == ["", "", "<tenant>", "gains the role view", "in <tenant>"]
    assert "| Who | What | Where |\n| --- | --- | --- |\n| \\<tenant\\> | gains the role view |" in as_markdown(found)


def test_a_password_in_a_url_and_a_value_of_a_secret_are_in_no_form_of_a_report():
    def controller(password):
        env = [{"name": "HTTPS_PROXY", "value": f"http://me:{password}@proxy.example.com"}]
        containers = [{"name": "manager", "args": ["--events-addr=http://me:swordfish@events"], "env": env}]
        return kubernetes("Deployment", "source-controller", spec={"template": {"spec": {"containers": containers}}})

    old, new = "swordfish", "swordfish" * 20
    added = kubernetes("ConfigMap", "added", text=f"see https://{new}@git.example.com")
    before, after = (kubernetes("Secret", "a", stringData={"a": text}) for text in ("hunter2", "swordfish"))
    found = report(compared(side(controller(old), before), side(controller(new), added, after)))

    for text in (printed(found), as_markdown(found), as_json(found)):
        assert "me:(not shown)@" in text.replace("\\", "")
        assert "swordfish" not in text and "hunter2" not in text


def test_text_of_others_does_not_control_the_terminal():
    stack = compared(side(kubernetes("Role", "\x1b[31m")), side(kubernetes("Role", "a", x="\x1b[2J")))
    found = report(replace(stack, said=(Statement("dev-team", "\x1b[5m", risk=True), Statement("a", "\x1b[5m"))))

    assert "\x1b" not in printed(found)


def test_the_json_has_every_change_with_its_fields():
    [stack] = json.loads(as_json(sample()))["stacks"]

    assert {each["object"]: each["action"] for each in stack["changes"]} == {
        "dev-team/cluster/namespace-apps.yaml": "removed",
        "dev-team/cluster/role-a.yaml": "changed",
        "dev-team/cluster/role-b.yaml": "added",
    }
    [changed] = [each for each in stack["changes"] if each["action"] == "changed"]
    assert changed["fields"] == [{"field": "x", "before": 1, "after": 2}]
    assert stack["statements"] == [{"owner": "dev-team", "text": "may do [bold]more", "risk": True, "matters": ""}]
    assert stack["releases"][0]["after"] == {"version": "2.9.5", "sha256": ""}
    assert stack["deletions"][0]["needsAcknowledgement"] is True
