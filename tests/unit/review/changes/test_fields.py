"""The lines of a diff, and what of it is noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sample_objects import kubernetes, render_of

from flux_tenancy.components.plan import OWNERSHIP
from flux_tenancy.components.policies.component import PROBE_NAME
from flux_tenancy.review.changes.fields import as_yaml_lines, diff, is_noise, label, masked
from flux_tenancy.review.changes.objects import Action, ObjectChange, changes


def lines(change):
    return [line for part in diff(change) for line in part]


def changed(kind="Role", before=None, after=None, name="a"):
    [change] = changes(render_of(kubernetes(kind, name, **before)), render_of(kubernetes(kind, name, **after)))
    return change


def of_spec(before, after):
    return lines(changed(before={"spec": before}, after={"spec": after}))


def metadata(**parts):
    return {"metadata": parts}


ROLE, SECRET = (
    ("apiVersion: example.com/v1", f"kind: {kind}", "metadata:", "  name: a") for kind in ("Role", "Secret")
)
START, END, PART = "a" * 300, "b" * 300, "".join(f"{number}," for number in range(100))


def test_objects_are_called_by_kind_namespace_and_name():
    assert label(kubernetes("Role", "dev-team", "apps")) == "Role apps/dev-team"
    assert label(kubernetes("Namespace", "apps")) == "Namespace apps"


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        pytest.param(
            {"a": "old", "b": 1},
            {"a": "new", "c": [True]},
            ["- spec.a: old", "+ spec.a: new", "- spec.b: 1", "+ spec.c: [true]"],
            id="a line for each value",
        ),
        pytest.param(
            {"a": "one\ntwo\n"}, {"a": "one\nthree\n"}, ["  spec.a:", "-   two", "+   three"], id="lines that differ"
        ),
        pytest.param(
            {"a": "x\n-- foo\n"}, {"a": "x\n++ bar\n"}, ["  spec.a:", "-   -- foo", "+   ++ bar"], id="no headings"
        ),
        pytest.param(
            {"a": f"{START}old{END}"},
            {"a": f"{START}new{END}"},
            [f"- spec.a: …{'a' * 60}old{'b' * 60}…", f"+ spec.a: …{'a' * 60}new{'b' * 60}…"],
            id="where long values differ",
        ),
        pytest.param(
            {"a": "a" * 300},
            {"a": "a" * 301},
            [f"- spec.a: …{'a' * 60}", f"+ spec.a: …{'a' * 61}"],
            id="what is more of what is repeated",
        ),
        pytest.param({}, {"a": "x\x1b[31m\u202ey"}, [r"+ spec.a: x\x1b[31m\u202ey"], id="no control characters"),
    ],
)
def test_a_value_that_differs_is_shown_where_it_differs(before, after, shown):
    assert of_spec(before, after) == shown


@pytest.mark.parametrize("text", ["1", "true", "No", "", "null", 'say "x"'])
def test_a_text_that_looks_like_another_value_is_quoted(text):
    [line] = of_spec({}, {"a": text})

    assert line.startswith('+ spec.a: "')


def test_a_long_part_that_is_repeated_is_shown_with_what_is_around_it():
    before, after = of_spec({"a": START + PART + END}, {"a": START + PART + PART + END})

    assert before == f"- spec.a: …{PART[-60:]}{END[:60]}…"
    assert after.startswith(f"+ spec.a: …{PART[-60:]}0,1,2,")


def test_a_long_new_value_is_cut():
    [line] = of_spec({}, {"a": "x" * 500})

    assert line.endswith("x… (260 more characters)")
    assert len(line) < 300


def test_each_field_is_a_part_of_the_diff():
    found = diff(changed(before={"spec": {}}, after={"spec": {f"f{number:02}": number for number in range(50)}}))
    assert list(found) == [(f"+ spec.f{number:02}: {number}",) for number in range(50)]


@pytest.mark.parametrize(
    ("added", "shown"),
    [
        (
            kubernetes("Role", "a", "apps", rules=[{"verbs": ["get"]}]),
            (
                ("apiVersion: example.com/v1", "kind: Role", "metadata:", "  name: a", "  namespace: apps"),
                ("rules:", "- verbs:", "  - get"),
            ),
        ),
        (replace(kubernetes("Role", "a"), protected=True), (("# protect: true",), ROLE)),
        (kubernetes("Secret", "a", stringData={"a": "hunter2"}), (SECRET, ("stringData:", "  a: (not shown)"))),
        (
            kubernetes("Role", "a", metadata={"annotations": {**OWNERSHIP, "note": "x"}}),
            ((*ROLE, "  annotations:", "    note: x"),),
        ),
    ],
    ids=["by its keys", "protected", "a secret", "without annotations that all have"],
)
def test_an_added_object_is_shown_as_yaml(added, shown):
    assert as_yaml_lines(added) == shown


def test_a_change_without_names_is_the_same_for_objects_that_are_alike():
    secret = {"key": "<encrypted tenants.apps.key 0123456789abcdef>"}
    content: dict[str, Any] = {"stringData": secret, "secretRef": {"name": "apps-git"}, "text": "apps"}
    content["roleRef"] = {"name": "apps"}

    found = masked(ObjectChange(Action.ADDED, kubernetes("Secret", "a", "apps", "apps", **content))).object.manifest

    assert found["metadata"] == {"name": "<name>", "namespace": "<tenant>"}
    assert found["secretRef"]["name"] == "<tenant>-git"
    assert found["stringData"]["key"] == "<encrypted tenants.<tenant>.key …>"
    assert (found["text"], found["roleRef"]["name"]) == ("apps", "apps")


STAND_IN, ROTATED = (f"<encrypted tenants.a.source.deployKey {digest}>" for digest in ("01", "02"))


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (
            {"stringData": {"a": "hunter2"}, "type": "Opaque"},
            {"stringData": {"a": "swordfish"}},
            ["- stringData.a: (not shown)", "+ stringData.a: (not shown)", "- type: Opaque"],
        ),
        ({}, {"data": {"a": "hunter2"}}, ['+ data: {"a": "(not shown)"}']),
        (
            {"stringData": {"a": STAND_IN}},
            {"stringData": {"a": ROTATED}},
            [f"- stringData.a: {STAND_IN}", f"+ stringData.a: {ROTATED}"],
        ),
        ({}, {"stringData": {"a": f"{STAND_IN} hunter2"}}, ['+ stringData: {"a": "(not shown)"}']),
    ],
    ids=["values", "a new mapping", "stand-ins", "text beside a stand-in"],
)
def test_only_stand_ins_of_secrets_are_shown(before, after, shown):
    assert lines(changed("Secret", before, after)) == shown


@pytest.mark.parametrize(
    ("before", "after", "noise"),
    [
        (
            metadata(labels={"app.kubernetes.io/version": "1"}),
            metadata(labels={"app.kubernetes.io/version": "2"}),
            True,
        ),
        (metadata(), metadata(annotations={"description": "x"}), True),
        (
            {"spec": {"template": metadata(labels={"team": "1"})}},
            {"spec": {"template": metadata(labels={"team": "2"})}},
            True,
        ),
        (metadata(labels={"pod-security.kubernetes.io/enforce": "a"}), metadata(labels={}), False),
        (metadata(), metadata(annotations={"flux-tenancy/sources": "ssh://x"}), False),
        (metadata(), metadata(labels={"toolkit.fluxcd.io/tenant": "x"}), False),
        (metadata(labels={"v": "1"}), metadata(labels={"v": "2"}) | {"spec": 1}, False),
        (metadata(), metadata(finalizers=["x"]), False),
    ],
)
def test_only_labels_and_annotations_that_decide_nothing_are_noise(before, after, noise):
    assert is_noise(changed(before=before, after=after)) is noise


def test_labels_that_only_describe_come_last():
    found = lines(changed(before=metadata(labels={"team": "1"}), after=metadata(labels={"team": "2"}) | {"spec": 1}))

    assert found == ["+ spec: 1", '- metadata.labels.team: "1"', '+ metadata.labels.team: "2"']


def test_the_digest_of_all_policies_is_noise():
    assert is_noise(changed(name=PROBE_NAME, before={"spec": "digest 1"}, after={"spec": "digest 2"}))
