"""What a change deletes, and what of it has to be acknowledged."""

from __future__ import annotations

import pytest
from sample_objects import at_github, helm_release, kubernetes, render_of

from flux_tenancy.review.changes.objects import ACKNOWLEDGED_FROM, changes, deletions


def deleted(*objects, added=(), stack="staging", acknowledged=()):
    return deletions(stack, changes(render_of(*objects), render_of(*added)), acknowledged)


def only(*objects, **options):
    [deletion] = deleted(*objects, **options)
    return deletion


def roles(count):
    return [kubernetes("Role", f"role-{number}", "apps") for number in range(count)]


def test_objects_that_stay_are_not_deleted():
    role = kubernetes("Role", "a", "apps")

    assert deleted(role, added=[role]) == ()


def test_deletions_are_listed_by_owner():
    found = deleted(kubernetes("Role", "a"), kubernetes("Role", "b", owner="ops-team"), kubernetes("Role", "c"))

    assert [(each.owner, [o.name for o in each.objects]) for each in found] == [
        ("dev-team", ["a", "c"]),
        ("ops-team", ["b"]),
    ]


def test_many_objects_need_an_acknowledgement():
    assert not only(*roles(ACKNOWLEDGED_FROM - 1)).needs_acknowledgement
    assert only(*roles(ACKNOWLEDGED_FROM)).needs_acknowledgement


@pytest.mark.parametrize(
    "rendered",
    [
        kubernetes("Namespace", "apps"),
        kubernetes("CustomResourceDefinition", "x.example.com"),
        kubernetes("Tenant", "dev-team"),
        helm_release("kyverno"),
    ],
    ids=lambda rendered: rendered.kind,
)
def test_what_takes_other_objects_along_needs_an_acknowledgement(rendered):
    assert only(rendered).needs_acknowledgement


def test_an_acknowledgement_fits_its_deletion():
    deletion = only(kubernetes("Namespace", "apps"))

    assert deletion.is_missing_acknowledgement
    assert not only(kubernetes("Namespace", "apps"), acknowledged=[deletion.token]).is_missing_acknowledgement
    assert deletion.token.startswith("dev-team:")


def test_an_acknowledgement_fits_no_other_deletion():
    one = only(kubernetes("Namespace", "apps"))
    others = [
        only(kubernetes("Namespace", "apps"), kubernetes("Role", "a")),
        only(kubernetes("Namespace", "tools")),
        only(kubernetes("Namespace", "apps"), stack="production"),
        only(kubernetes("Namespace", "apps", owner="ops-team")),
    ]

    assert one.token not in [each.token for each in others]


def test_an_acknowledgement_does_not_depend_on_the_content_of_what_is_deleted():
    assert only(kubernetes("Namespace", "apps", spec=1)).token == only(kubernetes("Namespace", "apps", spec=2)).token


def test_everything_in_a_namespace_goes_with_it():
    sync = kubernetes("Kustomization", "dev-team", "apps", spec={"prune": True})

    assert list(only(kubernetes("Namespace", "apps"), sync).consequences()) == [
        "everything in namespace apps is deleted, including the objects that Flux applied from the Git of dev-team"
    ]


def test_every_object_of_a_kind_goes_with_its_definition():
    definitions = [kubernetes("CustomResourceDefinition", f"{name}.example.com") for name in ("a", "b")]

    assert list(only(*definitions).consequences()) == [
        "every object of definitions a.example.com, b.example.com is deleted in the whole cluster"
    ]


@pytest.mark.parametrize(
    ("spec", "fate"),
    [
        ({"prune": True}, "deletes"),
        ({"prune": False}, "keeps"),
        ({"prune": True, "suspend": True}, "keeps"),
        ({"prune": True, "deletionPolicy": "Orphan"}, "keeps"),
        ({"prune": False, "deletionPolicy": "Delete"}, "deletes"),
        ({"prune": True, "deletionPolicy": "MirrorPrune"}, "deletes"),
    ],
)
def test_a_sync_says_what_flux_does_with_its_objects(spec, fate):
    [said] = only(kubernetes("Kustomization", "dev-team", "apps", spec=spec)).consequences()

    assert said == f"Flux {fate} the objects that it applied from the Git of apps/dev-team"


def test_a_release_of_a_tenant_is_uninstalled_unless_its_namespace_goes():
    release = kubernetes("HelmRelease", "podinfo", "apps", spec={})

    assert list(only(release).consequences()) == ["Flux uninstalls the Helm release apps/podinfo"]
    assert not any("podinfo" in each for each in only(kubernetes("Namespace", "apps"), release).consequences())


def test_every_object_of_its_chart_goes_with_a_helm_release():
    [said] = only(helm_release("kyverno")).consequences()

    assert said == "every object of the Helm release kyverno is deleted, including custom resources"


def test_keys_and_webhooks_at_github_are_named_by_their_repository():
    found = only(at_github("RepositoryDeployKey", "dev-team-1", "apps"), at_github("RepositoryWebhook", "w", "apps"))

    assert list(found.consequences()) == [
        "its deploy key is removed from apps at GitHub",
        "its webhook is removed from apps at GitHub",
    ]


def test_a_key_that_another_one_replaces_is_not_deleted():
    before, after = (at_github("RepositoryDeployKey", f"dev-team-{number}", "apps") for number in (1, 2))

    assert deleted(before, added=[after]) == ()


def test_a_key_of_another_repository_replaces_none():
    before, after = (at_github("RepositoryDeployKey", f"dev-team-{name}", name) for name in ("apps", "tools"))

    assert only(before, added=[after]).objects == (before,)


def test_the_namespaces_that_a_tenant_makes_go_with_it():
    assert list(only(kubernetes("Tenant", "dev-team")).consequences()) == [
        "Capsule deletes the namespaces that dev-team makes, with everything in them"
    ]


def test_a_suspended_release_stays():
    release = kubernetes("HelmRelease", "web", "apps", spec={"suspend": True})

    assert list(only(release).effects()) == [("Flux keeps the suspended Helm release apps/web", False)]
