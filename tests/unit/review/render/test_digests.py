"""Digests of renders and of their objects."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from flux_tenancy.review.render.rendered import Digests, Render, RenderedObject, as_yaml, differences, is_digest

DIGEST = "sha256:" + "0123456789abcdef" * 4


def role(verbs: tuple[str, ...] = ("get",), name: str = "dev-team") -> RenderedObject:
    metadata = {"name": name, "namespace": "apps"}
    manifest = {"kind": "Role", "metadata": metadata, "rules": [{"resources": ["pods"], "verbs": list(verbs)}]}
    return RenderedObject("dev-team", "kubernetes:rbac.authorization.k8s.io/v1:Role", f"apps/{name}", manifest)


def digests(*objects: RenderedObject) -> Digests:
    return Digests.of(Render("staging", objects, DIGEST))


def test_digests_ignore_the_order_of_keys_but_not_of_lists():
    reordered = role()
    reordered.manifest["rules"][0] = dict(reversed(reordered.manifest["rules"][0].items()))

    assert reordered.digest == role().digest
    assert role(verbs=("get", "list")).digest != role(verbs=("list", "get")).digest


def test_digests_are_the_same_on_every_machine():
    assert role().digest == "sha256:3a7d03eb11894b5a75427214a9a8c8cddb793484473d5090a8b5a5a3f4711363"


def test_a_digest_is_one_of_the_whole_text():
    assert is_digest(DIGEST)
    assert not is_digest(DIGEST.upper()) and not is_digest(f" {DIGEST}") and not is_digest(f"{DIGEST}\n")


def test_objects_of_different_types_or_names_differ():
    other = RenderedObject("dev-team", "kubernetes:core/v1:Secret", "apps/dev-team", role().manifest)

    assert other.digest != role().digest


def test_the_differences_of_two_renders_are_listed_by_path():
    before, after = digests(role(), role(name="gone")), digests(role(("get", "list")), role(name="new"))

    assert differences(before, after) == [
        "changed dev-team/apps/role-dev-team.yaml",
        "removed dev-team/apps/role-gone.yaml",
        "added dev-team/apps/role-new.yaml",
    ]
    assert differences(before, before) == []


def test_digests_are_read_as_they_were_written():
    written = digests(role())

    assert Digests.model_validate_json(written.as_json()) == written


@pytest.mark.parametrize(
    "change", [{"digest": "sha256:0"}, {"digest": DIGEST + "\n"}, {"objects": {"a": 1}}, {"stack": 1}, {"more": 1}]
)
def test_a_file_with_anything_else_in_it_is_refused(change):
    content = json.loads(digests(role()).as_json()) | change

    with pytest.raises(ValidationError):
        Digests.model_validate_json(json.dumps(content))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("0123456789", "'0123456789'"),
        (123456789, "123456789"),
        ("y", "'y'"),
        (True, "true"),
        ("main", "main"),
        ("a\nb\n", "|\n  a\n  b"),
    ],
)
def test_a_string_looks_like_one_and_lines_are_kept(value: object, written: str) -> None:
    assert as_yaml({"value": value}) == f"value: {written}\n"
