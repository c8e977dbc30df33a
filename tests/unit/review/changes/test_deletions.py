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


def test_deletions_are_listed_by_owner():
    found = deleted(kubernetes("Role", "a"), kubernetes("Role", "b", owner="ops-team"), kubernetes("Role", "c"))

    assert [(each.owner, [o.name for o in each.objects]) for each in found] == [
        ("dev-team", ["a", "c"]),
        ("ops-team", ["b"]),
    ]
    assert deleted(*roles(1), added=roles(1)) == ()


@pytest.mark.parametrize(
    ("objects", "needs"),
    [
        (roles(ACKNOWLEDGED_FROM - 1), False),
        (roles(ACKNOWLEDGED_FROM), True),
        ([kubernetes("Namespace", "apps")], True),
        ([kubernetes("CustomResourceDefinition", "x.example.com")], True),
        ([kubernetes("Tenant", "dev-team")], True),
        ([helm_release("kyverno")], True),
    ],
    ids=["few", "many", "a namespace", "a definition", "a tenant of Capsule", "a release"],
)
def test_many_objects_and_what_takes_others_along_need_an_acknowledgement(objects, needs):
    deletion = only(*objects)

    assert deletion.needs_acknowledgement is deletion.is_missing_acknowledgement is needs


def test_an_acknowledgement_fits_its_deletion_whatever_its_content_and_no_other():
    one = only(kubernetes("Namespace", "apps", spec=1))
    others = [
        only(kubernetes("Namespace", "apps"), kubernetes("Role", "a")),
        only(kubernetes("Namespace", "tools")),
        only(kubernetes("Namespace", "apps"), stack="production"),
        only(kubernetes("Namespace", "apps", owner="ops-team")),
    ]

    assert not only(kubernetes("Namespace", "apps", spec=2), acknowledged=[one.token]).is_missing_acknowledgement
    assert one.token.startswith("dev-team:")
    assert one.token not in [each.token for each in others]


SYNC = kubernetes("Kustomization", "dev-team", "apps", spec={"prune": True})
RELEASE = kubernetes("HelmRelease", "podinfo", "apps", spec={})
DEFINITIONS = [kubernetes("CustomResourceDefinition", f"{name}.example.com") for name in ("a", "b")]
AT_GITHUB = at_github("RepositoryDeployKey", "dev-team-1", "apps"), at_github("RepositoryWebhook", "w", "apps")


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        (
            [kubernetes("Namespace", "apps"), SYNC, RELEASE],
            [
                "everything in namespace apps is deleted, "
                "including the objects that Flux applied from the Git of dev-team"
            ],
        ),
        (
            DEFINITIONS,
            ["every object of definitions a.example.com, b.example.com is deleted in the whole cluster"],
        ),
        ([RELEASE], ["Flux uninstalls the Helm release apps/podinfo"]),
        (
            [helm_release("kyverno")],
            ["every object of the Helm release kyverno is deleted, including custom resources"],
        ),
        (
            AT_GITHUB,
            ["its deploy key is removed from apps at GitHub", "its webhook is removed from apps at GitHub"],
        ),
        (
            [kubernetes("Tenant", "dev-team")],
            ["Capsule deletes the namespaces that dev-team makes, with everything in them"],
        ),
    ],
    ids=["a namespace", "definitions", "a release of a tenant", "a chart", "at GitHub", "a tenant of Capsule"],
)
def test_what_goes_with_a_deleted_object_is_said(objects, said):
    assert list(only(*objects).consequences()) == said


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


def test_a_key_that_another_one_replaces_is_not_deleted_and_one_of_another_repository_is():
    old, new, other = (
        at_github("RepositoryDeployKey", f"dev-team-{name}", repository)
        for name, repository in (("1", "apps"), ("2", "apps"), ("3", "tools"))
    )

    assert deleted(old, added=[new]) == ()
    assert only(old, added=[other]).objects == (old,)


def test_a_suspended_release_stays():
    release = kubernetes("HelmRelease", "web", "apps", spec={"suspend": True})

    assert list(only(release).effects()) == [("Flux keeps the suspended Helm release apps/web", False)]
