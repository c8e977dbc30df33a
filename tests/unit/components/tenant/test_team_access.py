"""The access of a team whose tenant is leaving: which bindings are the tenant's own, and how they go."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from loopback import api_client
from sample_stack import tenant_config

from flux_tenancy.components.tenant.leaving.deletion import end_team_access, is_of_team
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/checkout/rolebindings"
TEAM = {"kind": "ServiceAccount", "name": "team", "namespace": "checkout"}


def binding(name: str, *subjects: dict[str, Any], **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "uid": f"uid-of-{name}", "resourceVersion": "7", "labels": labels}
    return {"metadata": metadata, "subjects": list(subjects)}


GIVEN = binding("dev-team-delegation", TEAM | {"name": "dev-team", "namespace": "apps"}, **{TENANT_LABEL: "dev-team"})
OF_TEAM = binding("team", TEAM)
OF_OTHERS = binding("monitoring", {"kind": "ServiceAccount", "name": "monitoring", "namespace": "monitoring"})


def asked(monkeypatch: pytest.MonkeyPatch, *found: dict[str, Any], preview: bool = False, **tenant: Any) -> list[str]:
    """The requests that change something, each with its body."""
    monkeypatch.setattr("pulumi.runtime.is_dry_run", lambda: preview)
    namespaces = [{"name": "apps"}, {"name": "checkout", "delegatedTo": "team"}]
    config = tenant_config(namespaces=namespaces, **({"state": "leaving"} | tenant))
    answers = {BINDINGS: {"items": list(found)}} | {f"{BINDINGS}/{each['metadata']['name']}": each for each in found}
    requests: list[str] = []
    bodies: list[bytes] = []
    with api_client(answers, asked=requests, bodies=bodies) as api:
        end_team_access(api, {"dev-team": config})
    changing = [each for each in requests if each.startswith(("DELETE", "PATCH"))]
    return [*changing, *(each.decode() for each in bodies)]


def test_the_binding_of_a_team_is_deleted_with_that_of_its_tenant(monkeypatch):
    path, body = asked(monkeypatch, GIVEN, OF_TEAM, OF_OTHERS)

    assert path == f"PATCH {BINDINGS}/team"
    [owner] = json.loads(body)["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == (
        "RoleBinding",
        "dev-team-delegation",
        GIVEN["metadata"]["uid"],
    )


def test_a_binding_that_is_found_later_is_deleted(monkeypatch):
    assert asked(monkeypatch, OF_TEAM, OF_OTHERS)[0] == f"DELETE {BINDINGS}/team"


@pytest.mark.parametrize("name", ["a?dryRun=All", "b#c", "?x", "a b"])
def test_a_name_that_means_something_in_a_url_keeps_no_binding(monkeypatch, name):
    """RBAC allows nearly every name, and the team chooses it."""
    assert asked(monkeypatch, binding(name, TEAM))[0] == f"DELETE {BINDINGS}/{quote(name, safe='')}"


@pytest.mark.parametrize("more", [{"preview": True}, {"state": "active"}], ids=str)
def test_nothing_changes_in_a_preview_or_for_a_tenant_that_stays(monkeypatch, more):
    assert asked(monkeypatch, GIVEN, OF_TEAM, **more) == []


@pytest.mark.parametrize(
    ("found", "own"),
    [
        (OF_TEAM, True),
        (GIVEN, False),
        (OF_OTHERS, False),
        (binding("mixed", TEAM, OF_OTHERS["subjects"][0]), False),
        (binding("person", {"kind": "User", "name": "ann"}), False),
        (binding("nobody"), False),
    ],
    ids=lambda each: each["metadata"]["name"] if isinstance(each, dict) else "",
)
def test_only_bindings_of_the_tenants_own_accounts_are_its_own(found, own):
    assert is_of_team(found, ["apps", "checkout"]) is own
